import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, Boards, dayFrom, isTop, watchable } from '../static/boards.js';

const at = { window: '7d', order: 'value', kind: 'player', date: null, query: {} };
const board = { window: '7d', order: 'value', kind: 'player', limit: 10 };
const push = (fields) => ({ type: 'board', data: { ...board, entries: [], ...fields } });

// line notes what is asked over it, and refuses what a test has it refuse.
function line() {
  const sent = [];
  const self = { sent, refuse: null, request: async (type, data) => { sent.push([type, data]); if (self.refuse) throw self.refuse; } };
  return self;
}

test('what a view is at becomes a query, and a watch while the day is open', () => {
  assert.deepEqual(asked(at), { order: 'value', kind: 'player', limit: 10 });
  assert.deepEqual(asked({ ...at, date: '2026-11-19', query: { around: 'p_1' } }), { order: 'value', kind: 'player', limit: 10, date: '2026-11-19', around: 'p_1' });
  assert.deepEqual(watchable({ ...at, query: { cursor: 'c' } }), board);
  assert.equal(watchable({ ...at, date: '2026-11-19' }), null);
  assert.deepEqual([{}, { cursor: 'c' }, { around: 'p' }].map((query) => isTop({ query })), [true, false, false]);
});

test('days are civil', () => {
  assert.equal(dayFrom('2026-03-01', -1), '2026-02-28');
  assert.equal(dayFrom('2026-12-31', 1), '2027-01-01');
  assert.equal(dayFrom('2026-10-25', 1), '2026-10-26', 'where clocks go back');
});

test('a view hears of its board until it leaves it, and of no other', () => {
  const l = line();
  const boards = new Boards(l);
  const pages = [];
  const stop = boards.watch(board, (page) => pages.push(page.total));
  boards.receive(push({ total: 1 }));
  for (const other of [{ window: 'all' }, { order: 'time' }, { kind: 'team' }]) boards.receive(push({ total: 9, ...other }));
  stop();
  boards.receive(push({ total: 2 }));
  assert.deepEqual(pages, [1]);
  assert.deepEqual(l.sent, [['board.watch', board], ['board.unwatch', board]]);
});

test('what leaves late disturbs no later view', () => {
  const boards = new Boards(line());
  const pages = [];
  const stop = boards.watch(board, () => pages.push('former'));
  boards.watch({ ...board, window: 'all' }, () => pages.push('later'));
  stop();
  boards.receive(push({ window: 'all' }));
  assert.deepEqual(pages, ['later']);
});

test('a watch that is refused is asked for again, one on a lost line is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [code, times] of [['unavailable', 3], ['disconnected', 1]]) {
    const l = line();
    l.refuse = { code };
    const stop = new Boards(l).watch(board, () => {});
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      t.mock.timers.tick(5000);
    }
    assert.equal(l.sent.length, times, code);
    stop();
    t.mock.timers.tick(5000);
    assert.equal(l.sent.length, times + 1, 'it leaves');
  }
});
