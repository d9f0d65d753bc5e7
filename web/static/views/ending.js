import { placeOf, playersOf, teams, winner } from '../field.js';
import { number, seconds, t, word } from '../i18n.js';
import { html } from '../preact.js';
import { Corrected } from './corrected.js';
import { Everyone } from './everyone.js';
import { Headline } from './headline.js';
import { Recap } from './recap.js';
import { Review } from './review.js';
import { Winners } from './winners.js';

// Ending is the last standing of an arena's match, and the way on from it.
export function Ending({ match, arena, player, results, home }) {
  if (!match.over) return html`<section class="stage final"><p>${t('arena.loading')}</p></section>`;
  const isPlayer = arena.as === 'player';
  const result = outcome(match, arena, player);
  return html`
    <section class="stage final" data-test="final" data-outcome=${result} data-match=${match.id}>
      <p class="arena-kind"><bdi>${arena.name}</bdi></p>
      <${Headline} text=${headline(match, result)} reason=${word(`arena.over.${match.over.reason}`, '')} />
      <${Corrected} match=${match} />
      ${match.found?.mode === 'race' && html`<${Winners} standings=${match.over.standings} player=${player} />`}
      <${TeamRanks} match=${match} own=${arena.team} />
      ${isPlayer && html`<${OwnPlace} match=${match} player=${player} />`}
      <${Everyone} key=${match.corrected?.question} match=${match} player=${player} />
      <div class="final-buttons">
        <button type="button" class="button primary" data-test="home" onClick=${home}>${t('final.home')}</button>
        ${arena.host && match.over.standings.length > 0 && html`<button type="button" class="button" data-test="report-open" onClick=${() => results.open(arena.id)}>${t('report.open')}</button>`}
      </div>
      ${isPlayer && match.over.standings.length > 0
        ? html`<${Review} match=${match} player=${player} answers=${(id) => results.answers(id)} />`
        : html`<${Recap} match=${match} player=${player} seats=${isPlayer ? { me: player } : {}} />`}
    </section>`;
}

// outcome is `won`, `lost` or `draw` for who played, `over` for the others and
// where nothing counts.
function outcome(match, arena, player) {
  if (match.over.standings.length === 0 || arena.as !== 'player') return 'over';
  const won = winner(match);
  if (!won) return 'draw';
  return won.id === (won.isTeam ? arena.team : player.id) ? 'won' : 'lost';
}

function headline(match, result) {
  const { over, found } = match;
  if (over.standings.length === 0) return t(over.reason === 'abandoned' ? 'arena.none.abandoned' : 'arena.none');
  const won = winner(match);
  if (!won) return t('arena.draw');
  const whose = won.isTeam ? 'team' : found?.mode ?? 'buzzer';
  return t(`arena.${result === 'won' ? 'won' : 'winner'}.${whose}`, { name: won.name });
}

function TeamRanks({ match, own }) {
  const ranks = Object.fromEntries((match.over.teams ?? []).map(({ id, rank }) => [id, rank]));
  const sides = teams(match).filter(({ id }) => ranks[id]);
  if (sides.length === 0) return null;
  return html`
    <ol class="ranks">${sides.map(({ id, name, score }) => html`
      <li key=${id} class=${`rank ${id === own ? 'me' : 'them'}`} data-test=${`team-${id}`} data-score=${score}>
        <p class="rank-place"><span class="unseen">${t('final.rank')} </span>${ranks[id]}</p>
        <p class="rank-name"><bdi>${name}</bdi>${id === own && html` <span class="tag me">${t('duel.you')}</span>`}</p>
        <p class="rank-score"><span class="unseen">${t('final.score')} </span>${number(score)}</p>
      </li>`)}</ol>`;
}

function OwnPlace({ match, player }) {
  const place = placeOf(match, player.id);
  if (!place) return null;
  const facts = [t('arena.place', { rank: number(place.rank), of: number(playersOf(match, player.id)) }), t('arena.points', { n: number(place.score) })];
  if (place.time_ms !== undefined) facts.push(seconds(place.time_ms));
  return html`<p class="own-place" data-test="place" data-rank=${place.rank}>${facts.join(' · ')}</p>`;
}
