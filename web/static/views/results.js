import { isRight, shown, survivors } from '../field.js';
import { number, seconds, t, word } from '../i18n.js';
import { html } from '../preact.js';
import { mark, outcomeOf, resultOf } from '../scene.js';
import { RaceResults, RaceStand, raceHeadline } from './race.js';
import { Share } from './share.js';
import { Verdict } from './verdict.js';

const signs = { right: '✓', wrong: '✗', none: '–' };

// Result is how an arena's question ended: for the player, and for the best.
export function Result({ match, round, seats, player, team }) {
  const outcome = mark(match, round.question.question, player.id);
  const { closed } = round;
  const counts = { answered: number(closed.answered), right: number(closed.right) };
  return html`
    <${Verdict} round=${round} seats=${seats} outcome=${outcome} headline=${headline(match, round, player, outcome)}>
      ${match.found.mode === 'race' && html`<${RaceStand} round=${round} player=${player} />`}
      <p class="hint">${word(`closed.${closed.reason}`, '')} ${t('arena.counts', counts)}${closed.first && html` · ${t('arena.first.time', { name: closed.first.nickname, time: seconds(closed.first.elapsed_ms) })}`}</p>
      <${Frequent} closed=${closed} lang=${round.question.lang} />
      ${match.found.mode === 'race'
        ? html`<${RaceResults} match=${match} round=${round} player=${player} team=${team} />`
        : html`<${Results} match=${match} round=${round} player=${player} />`}
    <//>`;
}

function headline(match, round, player, outcome) {
  const { mode } = match.found;
  if (mode === 'race') return raceHeadline(round, player, outcome);
  return mode === 'survival' ? survival(match, round, player) : buzzer(match, round, player);
}

function buzzer(match, { closed }, player) {
  const { first } = closed;
  if (!first) return t('buzzer.nobody');
  if (first.player === player.id) return t('buzzer.you');
  const team = match.found.teams?.find(({ id }) => id === first.team)?.name;
  return team ? t('buzzer.team', { name: first.nickname, team }) : t('buzzer.first', { name: first.nickname });
}

function survival(match, round, player) {
  if (round.closed.void) return t('survival.void');
  const own = resultOf(round, player.id);
  if (own?.out) return t('survival.out');
  const left = survivors(match);
  if (own && left === 1) return t('survival.last');
  return t(own ? 'survival.in' : 'survival.rest', { n: number(left) });
}

// Frequent lists the numbers or texts that were given most.
function Frequent({ closed, lang }) {
  if (!closed.top?.length) return null;
  return html`
    <h3 class="results-title">${t('result.frequent')}</h3>
    <ol class="frequent" data-test="frequent">${closed.top.map((entry) => html`
      <li key=${entry.value}>
        <span class="frequent-value" lang=${lang}>${typeof entry.value === 'number' ? number(entry.value, { maximumFractionDigits: 20 }) : entry.value}
          ${isRight(entry, closed.answer) && html` <span class="tag right">✓ ${t('result.is.right')}</span>`}</span>
        <${Share} n=${entry.n} of=${closed.answered} />
      </li>`)}</ol>`;
}

function Results({ match, round, player }) {
  const rows = shown(round, player.id);
  if (rows.length === 0) return null;
  const nameOf = (result) => result.nickname ?? player.nickname; // `own` names nobody
  return html`
    <table class="board-table results">
      <thead><tr><th scope="col"><span class="unseen">${t('result.answer')}</span></th><th scope="col">${t('board.player')}</th>
        <th scope="col">${t('final.time')}</th><th scope="col">${t('final.score')}</th></tr></thead>
      <tbody>${rows.map((result) => html`
        <tr key=${result.player} class=${`${result.player === player.id ? 'me' : ''} ${result.out ? 'fallen' : ''}`} data-test="result-row" data-player=${result.player}>
          <td class=${`sign ${outcomeOf(result)}`}><span aria-hidden="true">${signs[outcomeOf(result)]}</span><span class="unseen">${t(`mark.${outcomeOf(result)}`)}</span></td>
          <th scope="row"><bdi>${nameOf(result)}</bdi> ${result.player === player.id && html`<span class="tag me">${t('duel.you')}</span>`} ${result.out && html`<span class="tag out">${t('arena.out')}</span>`}</th>
          <td>${result.elapsed_ms === null ? '–' : seconds(result.elapsed_ms)}</td>
          <td>${number(result.score)}</td>
        </tr>`)}</tbody>
    </table>
    ${(!match.found.seats || round.closed.results.length > rows.length) && html`<p class="hint">${t('arena.best')}</p>`}`;
}
