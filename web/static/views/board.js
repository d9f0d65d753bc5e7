import * as api from '../api.js';
import { asked, isTop, watchable } from '../boards.js';
import { problem, t } from '../i18n.js';
import { html, useEffect, useState } from '../preact.js';
import { Days, Span } from './days.js';
import { orderName, Page, Turner } from './page.js';

const POLL_MS = 10_000;
const START = { window: null, order: null, kind: null, date: null, query: {} };

// Board shows the game's leaderboards, as many as the server lists, and keeps
// up with what it shows: by the line while there is one, else by asking.
export function Board({ player, boards, online }) {
  const [listed, setListed] = useState(null);
  const [wanted, setWanted] = useState(START);
  const [page, setPage] = useState({});
  const list = () => load(api.boards, setListed);
  useEffect(list, []);
  const listing = listed?.answer ?? { windows: [], kinds: [] };
  const at = placed(wanted, listing);
  const go = (fields) => setWanted({ ...at, query: {}, ...fields });
  useEffect(() => at.window && follow({ at, boards: online && boards, show: setPage }),
    [at.window, at.order, at.kind, at.date, at.query, online]);
  const failed = listed?.error ?? page.error;
  const again = listed?.error ? list : () => go({});
  return html`
    <section class="board" data-test="leaderboard" aria-labelledby="board">
      <h2 id="board">${t('board.title')}</h2>
      ${listing.kinds.length > 1 && html`
        <${Picker} label=${t('board.kind')} name="kind" values=${listing.kinds} value=${at.kind} text=${kindName} choose=${(kind) => go({ kind })} />`}
      <${Picker} label=${t('board.window')} name="window" values=${listing.windows.map(({ id }) => id)} value=${at.window} text=${windowName}
        choose=${(window) => go({ window, date: null })} />
      <${Picker} label=${t('board.order')} name="order" values=${at.orders} value=${at.order} text=${orderName} choose=${(order) => go({ order })} />
      ${at.window === 'day' && html`<${Days} today=${listing.day} date=${at.date} choose=${(date) => go({ date })} />`}
      ${failed
        ? html`<p class="hint" role="status">${problem(failed)} <button type="button" class="quiet" onClick=${again}>${t('board.again')}</button></p>`
        : html`<${Span} page=${page.answer} /><${Page} page=${page.answer} at=${at} player=${player} />`}
      <${Turner} page=${page.answer} at=${at} player=${player} turn=${(query) => go({ query })} />
    </section>`;
}

// windowName is what players call a window.
export function windowName(id) {
  const days = /^(\d+)d$/.exec(id);
  if (days) return t('board.days', { n: days[1] });
  return id === 'all' || id === 'day' ? t(`board.${id}`) : id;
}

const kindName = (id) => (id === 'player' || id === 'team' ? t(`board.kind.${id}`) : id);

// placed is the nearest to what is wanted that is listed.
function placed(wanted, { windows, kinds }) {
  const window = windows.find(({ id }) => id === wanted.window) ?? windows[0];
  const orders = window?.orders ?? [];
  return {
    ...wanted, window: window?.id, orders,
    order: orders.includes(wanted.order) ? wanted.order : orders[0],
    kind: kinds.includes(wanted.kind) ? wanted.kind : kinds[0],
  };
}

// follow shows what a view is at, as it changes, until what it returns is called.
function follow({ at, boards, show }) {
  let drop = () => {};
  const read = () => { drop(); drop = load(() => api.board(at.window, asked(at)), show); };
  const showAnswer = (answer) => { drop(); show({ answer }); };
  const board = boards && watchable(at);
  read();
  const stop = board ? boards.watch(board, isTop(at) ? showAnswer : read) : every(POLL_MS, read);
  return () => { drop(); stop(); };
}

// load asks and sets {answer} or {error}, unless what it returns is called first.
function load(ask, set) {
  let wanted = true;
  ask().then((answer) => wanted && set({ answer }), (error) => wanted && set({ error }));
  return () => { wanted = false; };
}

function every(ms, act) {
  const timer = setInterval(act, ms);
  return () => clearInterval(timer);
}

function Picker({ label, name, values, value, text, choose }) {
  return html`
    <div class="toggles" data-of=${name} role="group" aria-label=${label}>${values.map((id) => html`
      <button type="button" key=${id} class="toggle" data-test=${`${name}-${id}`} aria-pressed=${String(id === value)} onClick=${() => choose(id)}>${text(id)}</button>`)}</div>`;
}
