import { number, seconds, t, word } from '../i18n.js';
import { html } from '../preact.js';
import { filterOf } from '../preferences.js';
import { winner } from '../field.js';
import { isRated, seats, settled } from '../scene.js';
import { windowName } from './board.js';
import { Corrected } from './corrected.js';
import { Headline } from './headline.js';
import { Recap } from './recap.js';

// Final is the standing of a match that is over, and the way on from it.
export function Final({ match, player, state, actions }) {
  if (!match.over) return html`<section class="stage final"><p>${t('final.loading')}</p></section>`;
  const { over } = match;
  const result = outcome(match, player);
  const again = () => actions.duel.play('', state.questionFilter ?? filterOf(state.preferences));
  return html`
    <section class="stage final" data-test="final" data-outcome=${result}>
      <${Headline} text=${t(`final.${result}`, { name: winner(match)?.name ?? '' })} reason=${word(`final.${over.reason}`, '')} />
      <${Corrected} match=${match} />
      <ol class="ranks">${over.standings.map((standing, i) => html`
        <${Rank} key=${standing.player} standing=${settled(standing, match, player.id)} index=${i} own=${standing.player === player.id} />`)}</ol>
      <${SettledRanks} match=${match} />
      <div class="final-buttons">
        <button type="button" class="button primary" data-test="again" disabled=${state.busy} onClick=${again}>${t('final.again')}</button>
        <button type="button" class="button" data-test="home" onClick=${() => actions.home()}>${t('final.home')}</button>
      </div>
      <${Recap} match=${match} player=${player} seats=${seats(match, player.id)} />
    </section>`;
}

function outcome(match, player) {
  const won = winner(match);
  if (!won) return 'draw';
  return won.id === player.id ? 'won' : 'lost';
}

function Rank({ standing, index, own }) {
  const { rank, nickname, score, correct, asked, time_ms, rating, rating_delta } = standing;
  const fact = (label, value) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`
    <li class=${`rank ${own ? 'me' : 'them'}`} data-test=${`standing-${index}`}>
      <p class="rank-place"><span class="unseen">${t('final.rank')} </span>${rank}</p>
      <p class="rank-name"><bdi>${nickname}</bdi>${own && html` <span class="tag me">${t('duel.you')}</span>`}</p>
      <p class="rank-score"><span class="unseen">${t('final.score')} </span>${number(score)}</p>
      <dl class="rank-facts">
        ${fact(t('final.correct'), `${correct}/${asked}`)}
        ${fact(t('final.time'), seconds(time_ms))}
        ${rating !== undefined && fact(t('final.rating'), html`${number(rating)} <${Delta} value=${rating_delta} />`)}
      </dl>
    </li>`;
}

function Delta({ value }) {
  if (value === undefined) return null;
  return html`<strong class=${value < 0 ? 'bad' : 'good'}>${number(value, { signDisplay: 'exceptZero' })}</strong>`;
}

// SettledRanks shows whether the result is settled, and the player's new ranks.
function SettledRanks({ match }) {
  if (!isRated(match)) return html`<p class="books">${t('final.practice')}</p>`;
  if (match.over.reason === 'abandoned') return null;
  if (!match.settled) return html`<p class="books">${t('final.settling')}</p>`;
  return html`
    <div class="books settled" data-test="settled" role="status">
      <p>${t('final.settled')}</p>
      <ul>${Object.entries(match.settled.standings).map(([window, { rank }]) => html`
        <li data-window=${window}><strong>${t('final.settled.rank', { rank: number(rank) })}</strong> ${windowName(window)}</li>`)}</ul>
    </div>`;
}
