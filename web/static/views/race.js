import { raceStand, shown } from '../field.js';
import { number, points, t } from '../i18n.js';
import { html } from '../preact.js';
import { outcomeOf, resultOf } from '../scene.js';
import { Sides } from './field.js';

// raceHeadline says what a closed question earned the player.
export function raceHeadline(round, player, outcome) {
  const earned = resultOf(round, player.id)?.points ?? 0;
  if (outcome === 'unknown') return t('result.closed');
  if (outcome === 'wrong' && earned > 0) return t('race.partly', { n: points(earned) });
  return earned === 0 ? t(`race.${outcome}`) : t(`race.${outcome}.points`, { n: points(earned) });
}

// RaceStand is where the player stands after a closed question.
export function RaceStand({ round, player }) {
  const stand = raceStand(round, player.id);
  return stand && html`<p class="own-place" data-test="stand" data-rank=${stand.rank} data-next=${stand.toNext}>${standText(stand)}</p>`;
}

// RaceResults is where the teams and the best ten stand after a closed question.
export function RaceResults({ match, round, player, team }) {
  return html`
    ${match.found.teams?.length > 0 && html`<h3 class="results-title">${t('arena.teams')}</h3><${Sides} match=${match} own=${team} />`}
    <${Best} round=${round} player=${player} />`;
}

function standText({ rank, score, toNext }) {
  const next = toNext ? t('race.next', { n: number(toNext) }) : rank === 1 && t('race.first');
  return [t('race.rank', { rank: number(rank) }), t('arena.points', { n: number(score) }), next].filter(Boolean).join(' · ');
}

function Best({ round, player }) {
  const rows = shown(round, player.id);
  if (rows.length === 0) return null;
  const rankOf = ({ player: id, score }) => (id === player.id ? raceStand(round, id).rank : 1 + rows.filter((row) => row.score > score).length);
  return html`
    <h3 class="results-title">${t('race.best')}</h3>
    <table class="board-table results race">
      <thead><tr><th scope="col">${t('board.rank')}</th><th scope="col">${t('board.player')}</th>
        <th scope="col">${t('race.question')}</th><th scope="col">${t('final.score')}</th></tr></thead>
      <tbody>${rows.map((result) => html`
        <tr key=${result.player} class=${result.player === player.id ? 'me' : ''} data-test="result-row" data-player=${result.player}>
          <td>${number(rankOf(result))}</td>
          <th scope="row"><bdi>${result.nickname ?? player.nickname}</bdi> ${result.player === player.id && html`<span class="tag me">${t('duel.you')}</span>`}</th>
          <td class=${`earned ${outcomeOf(result)}`}>${result.points === 0 ? t(`mark.${outcomeOf(result)}`) : points(result.points)}</td>
          <td>${number(result.score)}</td>
        </tr>`)}</tbody>
    </table>`;
}
