import * as api from '../api.js';
import { playersOf } from '../field.js';
import { number, problem, seconds, t } from '../i18n.js';
import { html, useState } from '../preact.js';

const PAGE = 50;

// Everyone is the standings of an arena's match: those told with its end and, of
// many players, on demand the rest, a page at a time.
export function Everyone({ match, player }) {
  const { over, found } = match;
  const [paged, setPaged] = useState({ standings: [], next: undefined, error: null });
  const standings = paged.standings.length > 0 ? paged.standings : over.standings;
  const isMore = paged.standings.length > 0 ? Boolean(paged.next) : standings.length < playersOf(match, player.id);
  const more = async () => {
    try {
      const page = await api.finishedMatch(match.id, paged.next ? { limit: PAGE, cursor: paged.next } : { limit: PAGE });
      setPaged({ standings: [...paged.standings, ...page.standings], next: page.next_cursor, error: null });
    } catch (error) {
      setPaged({ ...paged, error });
    }
  };
  if (standings.length === 0) return null;
  return html`
    <table class="board-table standings">
      <thead><tr><th scope="col">${t('board.rank')}</th><th scope="col">${t('board.player')}</th><th scope="col">${t('final.correct')}</th>
        <th scope="col">${t('final.time')}</th><th scope="col">${t('final.score')}</th></tr></thead>
      <tbody>${standings.map((standing, i) => html`<${Row} key=${standing.player} standing=${standing} index=${i} own=${standing.player === player.id} teams=${found?.teams ?? []} />`)}</tbody>
    </table>
    ${paged.error && html`<p class="bad" role="status">${problem(paged.error)}</p>`}
    ${isMore && html`<button type="button" class="button small" data-test="more" onClick=${more}>${t('arena.more')}</button>`}`;
}

function Row({ standing, index, own, teams }) {
  const { rank, nickname, team, correct, asked, time_ms, score } = standing;
  const side = teams.find(({ id }) => id === team)?.name;
  return html`
    <tr class=${own ? 'me' : ''} data-test=${`standing-${index}`} data-score=${score}>
      <td>${number(rank)}</td>
      <th scope="row"><bdi>${nickname}</bdi> ${side && html`<small>${side}</small>`} ${own && html`<span class="tag me">${t('duel.you')}</span>`}</th>
      <td>${correct}/${asked}</td>
      <td>${seconds(time_ms)}</td>
      <td>${number(score)}</td>
    </tr>`;
}
