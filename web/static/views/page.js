import { number, seconds, t } from '../i18n.js';
import { html } from '../preact.js';

const values = {
  value: (entry) => number(entry.value),
  score: (entry) => number(entry.score),
  matches: (entry) => number(entry.matches),
  accuracy: (entry) => number(entry.accuracy, { style: 'percent', maximumFractionDigits: 1 }),
  time: (entry) => seconds(entry.asked ? entry.time_ms / entry.asked : 0),
};

export const orderName = (id) => (values[id] ? t(`board.${id}`) : id);

// Page is a page of a leaderboard as a table, the player's own entry marked.
export function Page({ page, at, player }) {
  if (!page) return html`<p class="hint">${t('board.loading')}</p>`;
  if (page.entries.length === 0) return html`<p class="hint board-empty">${t(at.date ? 'board.empty.past' : 'board.empty')}</p>`;
  const show = values[at.order] ?? values.value;
  const who = at.kind === 'team' ? t('board.team') : t('board.player');
  return html`
    <table class="board-table">
      <thead><tr><th scope="col">${t('board.rank')}</th><th scope="col">${who}</th><th scope="col">${orderName(at.order)}</th></tr></thead>
      <tbody>${page.entries.map((entry) => html`
        <tr key=${entry.id} class=${entry.id === player?.id ? 'me' : ''} data-test="entry-row" data-player=${entry.id} data-value=${entry.value}>
          <td>${number(entry.rank)}</td>
          <th scope="row"><bdi>${entry.nickname}</bdi>${entry.id === player?.id && html` <span class="tag me">${t('duel.you')}</span>`}</th>
          <td>${show(entry)}</td>
        </tr>`)}</tbody>
    </table>`;
}

// Turner turns the pages of a leaderboard, and leads to the player's own place.
export function Turner({ page, at, player, turn }) {
  const button = (name, query) => html`
    <button type="button" class="button small" data-test=${name} disabled=${!query} onClick=${() => turn(query)}>${t(`board.${name}`)}</button>`;
  const cursor = (edge) => edge && { cursor: edge };
  const around = at.kind !== 'team' && player && { around: player.id };
  return html`
    <div class="turner">
      ${button('prev', cursor(page?.prev_cursor))}
      ${button('next', cursor(page?.next_cursor))}
      ${at.query.around ? button('top', {}) : button('around', around)}
      ${page && html`<span class="hint">${t(at.kind === 'team' ? 'board.total.team' : 'board.total', { n: number(page.total) })}</span>`}
    </div>`;
}
