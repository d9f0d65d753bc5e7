import * as api from '../api.js';
import { number, problem, seconds, t } from '../i18n.js';
import { html, useEffect, useState } from '../preact.js';

const LIMIT = 10;

// Board shows the game's leaderboards, as many as the server lists: a window, an
// order, a page of it, and the part around the player.
export function Board({ player }) {
  const [listed, setListed] = useState(null);
  const [at, setAt] = useState({ window: null, order: null, query: {} });
  const [page, setPage] = useState({});
  const list = () => load(api.boards, setListed);
  useEffect(list, []);
  const windows = listed?.answer?.windows ?? [];
  const window = windows.find(({ id }) => id === at.window) ?? windows[0];
  const order = window?.orders.includes(at.order) ? at.order : window?.orders[0];
  const turn = (query) => setAt({ ...at, query });
  const read = () => load(() => api.board(window.id, { order, limit: LIMIT, ...at.query }), setPage);
  useEffect(() => window && read(), [window?.id, order, at.query]);
  const failed = listed?.error ?? page.error;
  return html`
    <section class="board" data-test="leaderboard" aria-labelledby="board">
      <h2 id="board">${t('board.title')}</h2>
      <${Picker} label=${t('board.window')} name="window" values=${windows.map(({ id }) => id)} value=${window?.id} text=${windowName}
        choose=${(id) => setAt({ ...at, window: id, query: {} })} />
      <${Picker} label=${t('board.order')} name="order" values=${window?.orders ?? []} value=${order} text=${orderName}
        choose=${(id) => setAt({ ...at, order: id, query: {} })} />
      ${failed
        ? html`<p class="hint" role="status">${problem(failed)} <button type="button" class="quiet" onClick=${listed?.error ? list : () => turn({})}>${t('board.again')}</button></p>`
        : html`<${Page} page=${page.answer} order=${order} player=${player} />`}
      <${Turner} page=${page.answer} player=${player} turn=${turn} around=${Boolean(at.query.around)} />
    </section>`;
}

// windowName is what players call a window.
export function windowName(id) {
  const days = /^(\d+)d$/.exec(id);
  if (days) return t('board.days', { n: days[1] });
  return id === 'all' || id === 'day' ? t(`board.${id}`) : id;
}

const values = {
  value: (entry) => number(entry.value),
  score: (entry) => number(entry.score),
  matches: (entry) => number(entry.matches),
  accuracy: (entry) => number(entry.accuracy, { style: 'percent', maximumFractionDigits: 1 }),
  time: (entry) => seconds(entry.asked ? entry.time_ms / entry.asked : 0),
};

const orderName = (id) => (values[id] ? t(`board.${id}`) : id);

// load asks and sets {answer} or {error}, unless what it returns is called first.
function load(ask, set) {
  let wanted = true;
  ask().then((answer) => wanted && set({ answer }), (error) => wanted && set({ error }));
  return () => { wanted = false; };
}

function Picker({ label, name, values, value, text, choose }) {
  return html`
    <div class="toggles" role="group" aria-label=${label}>${values.map((id) => html`
      <button type="button" class="toggle" data-test=${`${name}-${id}`} aria-pressed=${String(id === value)} onClick=${() => choose(id)}>${text(id)}</button>`)}</div>`;
}

function Page({ page, order, player }) {
  if (!page) return html`<p class="hint">${t('board.loading')}</p>`;
  if (page.entries.length === 0) return html`<p class="hint board-empty">${t('board.empty')}</p>`;
  const show = values[order] ?? values.value;
  return html`
    <table class="board-table">
      <thead><tr><th scope="col">${t('board.rank')}</th><th scope="col">${t('board.player')}</th><th scope="col">${orderName(order)}</th></tr></thead>
      <tbody>${page.entries.map((entry) => html`
        <tr key=${entry.id} class=${entry.id === player?.id ? 'me' : ''} data-test="entry-row" data-player=${entry.id}>
          <td>${number(entry.rank)}</td>
          <th scope="row"><bdi>${entry.nickname}</bdi>${entry.id === player?.id && html` <span class="tag me">${t('duel.you')}</span>`}</th>
          <td>${show(entry)}</td>
        </tr>`)}</tbody>
    </table>`;
}

function Turner({ page, player, turn, around }) {
  const button = (name, text, query) => html`
    <button type="button" class="button small" data-test=${name} disabled=${!query} onClick=${() => turn(query)}>${text}</button>`;
  const cursor = (at) => at && { cursor: at };
  return html`
    <div class="turner">
      ${button('prev', t('board.prev'), cursor(page?.prev_cursor))}
      ${button('next', t('board.next'), cursor(page?.next_cursor))}
      ${around ? button('top', t('board.top'), {}) : button('around', t('board.around'), player && { around: player.id })}
      ${page && html`<span class="hint">${t('board.total', { n: number(page.total) })}</span>`}
    </div>`;
}
