// Readers of leaderboards read pages of every window in every order. They also read the
// next page, the page around a player, one standing, and its explanation. Half as many
// clients watch a board that the server pushes.
//
//   k6 run -e VUS=20 -e DURATION=1m loadtest/k6/boards.js

import { sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { duration, pushTimeout, think, vus } from './lib/env.js';
import { fetch, get } from './lib/http.js';
import { newPlayer } from './lib/player.js';
import { holds, thresholds } from './lib/checks.js';
import { pause } from './duel.js';

export const options = {
  scenarios: {
    boards: { executor: 'constant-vus', vus, duration },
    watchers: { executor: 'constant-vus', exec: 'watch', vus: Math.ceil(vus / 2), duration, gracefulStop: '30s' },
  },
  thresholds: thresholds(['page', 'explain', 'watch'], { pages: ['count>0'] }),
};

const pages = new Counter('pages');
const pushed = new Counter('boards_pushed');

export const setup = () => pages.add(0); // a threshold on a metric without samples would not be checked

const any = (list) => list[Math.floor(Math.random() * list.length)];

// compare is negative if a ranks before b. Fractions are compared as sent.
const compare = {
  value: (a, b) => b.value - a.value,
  score: (a, b) => b.score - a.score,
  matches: (a, b) => b.matches - a.matches,
  accuracy: (a, b) => b.correct * a.asked - a.correct * b.asked,
  time: (a, b) => a.time_ms * b.asked - b.time_ms * a.asked,
};

// ordered reports whether the ranks follow from the values. On a first page all ranks are
// known: each is the place of the first entry with the same value, from 1.
export function ordered(page, order, first) {
  return page.entries.every((entry, i) => {
    if (i === 0) return first ? entry.rank === 1 : entry.rank >= 1;
    const before = page.entries[i - 1];
    const by = compare[order](before, entry);
    if (by === 0) return entry.rank === before.rank;
    return by < 0 && (first ? entry.rank === i + 1 : entry.rank > before.rank) && entry.rank <= page.total;
  });
}

export function read() {
  const there = get('/leaderboards', 'GET leaderboards');
  if (!there) return sleep(1);
  const window = any(there.windows);
  readBoard(window.id, any(window.orders));
  sleep((Math.random() * think) / 1000);
}

// readAll reads the all-time board in each of its orders.
export function readAll() {
  const there = get('/leaderboards', 'GET leaderboards');
  for (const { id, orders } of there ? there.windows : []) {
    if (id === 'all') for (const order of orders) readBoard(id, order);
  }
}

function readBoard(window, order) {
  const board = `/leaderboards/${window}`;
  const page = look(`${board}?order=${order}&limit=20`, order, true);
  if (page && page.next_cursor) look(`${board}?order=${order}&limit=20&cursor=${encodeURIComponent(page.next_cursor)}`, order, false);
  if (page && page.entries.length) standing(board, order, any(page.entries).id);
}

function look(path, order, first) {
  const page = get(path, 'GET leaderboards/{window}');
  if (!page) return null;
  pages.add(1);
  holds('page', ordered(page, order, first), () => `${path}: ${JSON.stringify(page)}`);
  return page;
}

function standing(board, order, id) {
  const around = get(`${board}?order=${order}&limit=10&around=${id}`, 'GET leaderboards/{window}?around');
  if (around) holds('page', ordered(around, order, false) && around.entries.some((entry) => entry.id === id), () => `around ${id}: ${JSON.stringify(around)}`);
  const one = get(`${board}/${id}?order=${order}&explain=1`, 'GET leaderboards/{window}/{player}');
  if (!one || !one.explain) return;
  const sum = one.explain.parts.reduce((all, part) => all + part.value, 0);
  holds('explain', sum === one.value, () => `${id} ${order}: ${JSON.stringify(one)}`);
}

const held = 3000; // ms that a client watches a board

// watch watches a random board.
export async function watch() {
  const there = await fetch('/leaderboards', 'GET leaderboards');
  if (!there) return pause(1000);
  const { id, orders } = any(there.windows);
  return watchBoard(id, any(orders));
}

// watchBoard receives a pushed board for a while: at once, and then after each change.
export async function watchBoard(window, order) {
  const player = newPlayer();
  if (!player || !(await player.connect())) return pause(1000);
  const watched = { window, order, limit: 20 };
  let last = null;
  player.onpush = (frame) => {
    if (frame.type === 'board') last = next(watched, last, frame.data);
  };
  const reply = await player.request('board.watch', watched);
  const asked = Date.now();
  if (reply && reply.type === 'board.ok') {
    while (player.ws && !last && Date.now() - asked < pushTimeout) await pause(50);
    holds('watch', last !== null || !player.ws, () => `${JSON.stringify(watched)} was not pushed`);
    await pause(held);
    await player.request('board.unwatch', watched);
  } else if (reply) await pause(reply.data.retry_after_ms || 1000);
  player.close();
}

// next checks a pushed board. It must be the watched board, start at the top, be in order,
// and not be older than the last one.
function next(watched, last, page) {
  pushed.add(1);
  const asked = page.window === watched.window && page.order === watched.order && page.entries.length <= watched.limit;
  holds('watch', asked && ordered(page, watched.order, true) && (!last || page.as_of >= last.as_of),
    () => `${JSON.stringify(watched)}: ${JSON.stringify(page)}, after ${JSON.stringify(last)}`);
  return page;
}

export default read;
