import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinURL, read, showing, watchURL } from '../static/address.js';
import { arenaOf, asCode, called, kept, made, recalled, seated, applyPush, unnamed } from '../static/arena.js';
import { blank, fault, newArena, refusedField } from '../static/draft.js';

const joined = {
  arena_id: 'a_1', mode: 'buzzer', name: 'Friday', as: 'player', team: 't1', state: 'lobby', players: 3,
  teams: [{ id: 't1', name: 'Reds', players: 2 }, { id: 't2', name: 'Blues', players: 1 }],
};

test('a code is six digits, however they are typed', () => {
  for (const text of ['123456', ' 123 456 ', '123-456', '１２３４５６']) assert.equal(asCode(text), '123456', text);
  for (const text of ['', '12345', '1234567', '12345a', '-12345', '1e5555']) assert.equal(asCode(text), null, text);
});

test('an address names the game, the arena and whose page it is', () => {
  const at = (href) => read(new URL(href), 'only');
  assert.deepEqual(at('https://q.example/'), { game: 'only', ownTab: false, arena: null, watch: false });
  assert.deepEqual(at('https://q.example/g/com.example.quiz?guest=new'), { game: 'com.example.quiz', ownTab: true, arena: null, watch: false });
  assert.deepEqual(at(joinURL('https://q.example/?guest=new', 'a:b', '123456')), { game: 'a:b', ownTab: false, arena: '123456', watch: false });
  assert.deepEqual(at(watchURL('https://q.example/', 'demo', '123456')), { game: 'demo', ownTab: true, arena: '123456', watch: true });
});

test('the address follows the place that the page shows', () => {
  assert.equal(joinURL('https://q.example/?guest=new', 'demo', '123456'), 'https://q.example/g/demo/join/123456');
  assert.equal(showing('https://q.example/?guest=new&watch=1', 'demo', '123456'), 'https://q.example/g/demo/join/123456?guest=new');
  assert.equal(showing('https://q.example/g/demo/join/123456?guest=new', 'demo', undefined), 'https://q.example/g/demo?guest=new');
  assert.equal(showing('https://q.example/?guest=new', 'demo', undefined), 'https://q.example/?guest=new');
});

test('a place keeps what only its host knows', () => {
  const arena = seated(made({ arena_id: 'a_1', code: '123456' }, { pace: 'host', late: true }), joined);
  assert.deepEqual([arena.id, arena.as, arena.team, arena.host, arena.pace, arena.lateJoin, arena.code], ['a_1', 'player', 't1', true, 'host', true, '123456']);
  assert.equal(seated(called('123456'), joined).host, false);
});

test('the lobby counts; another arena does not', () => {
  const arena = seated(called('123456'), joined);
  const push = { type: 'arena.lobby', data: { arena_id: 'a_1', teams: [], players: 9 } };
  assert.equal(applyPush(arena, push).players, 9);
  assert.equal(applyPush(arena, { ...push, data: { ...push.data, arena_id: 'a_2' } }), arena);
});

test('being kicked and the close end an arena', () => {
  const arena = seated(called('123456'), joined);
  for (const type of ['kicked', 'closed']) {
    const ended = applyPush(arena, { type: `arena.${type}`, data: { arena_id: 'a_1', reason: 'host' } });
    assert.deepEqual(ended.ended, { type, reason: 'host' });
    assert.equal(kept(ended), '', 'it is not come back to');
  }
});

test('an arena is found again by what was kept of it', () => {
  const arena = { ...seated(made({ code: '123456' }, { pace: 'host', late: true }), joined), locked: true };
  const again = recalled(kept(arena));
  assert.equal(again.id, null, 'the server has not let us in yet');
  assert.deepEqual(seated(again, joined), arena);
  for (const text of [null, '', 'null', '{}', '{"code":"12"}', '{"code":7,"as":"player"}']) assert.equal(recalled(text), null, text);
  for (const none of [null, unnamed('a_1')]) assert.equal(kept(none), '');
});

test('a match names its arena where nothing else does', () => {
  assert.equal(arenaOf({ arena: null, match: { found: { arena_id: 'a_1' } } }).id, 'a_1');
  for (const match of [null, { found: null }, { found: { mode: 'duel' } }]) assert.equal(arenaOf({ arena: null, match }), null);
});

test('a draft becomes the body of the contract', () => {
  const draft = { ...blank, mode: 'buzzer', name: ' Friday ', teams: ['Reds ', '', 'Blues'], count: '12', seconds: '20', pace: 'host' };
  assert.equal(fault(draft), null);
  assert.deepEqual(newArena(draft, { lang: 'en' }), {
    mode: 'buzzer', pace: 'host', name: 'Friday', questions: { count: 12, lang: 'en' }, time_limit_ms: 20_000, reading_ms: 0,
    teams: [{ id: 't1', name: 'Reds' }, { id: 't2', name: 'Blues' }],
  });
  assert.equal('teams' in newArena({ ...draft, teams: ['', ' '] }, {}), false);
});

test('only a race has points and late joins', () => {
  assert.deepEqual(newArena({ ...blank, name: 'Friday' }, {}), {
    mode: 'race', pace: 'auto', name: 'Friday', questions: { count: 10 }, time_limit_ms: 15_000, reading_ms: 0,
    scoring: { preset: 'speed', points: 100, penalty: 0, streak: 0, partial: false }, late_join: 'no',
  });
  const own = newArena({ ...blank, preset: 'accuracy', points: '50', penalty: '25', streak: '10', partial: true, late: true, reading: '3' }, {});
  assert.deepEqual([own.scoring, own.late_join, own.reading_ms], [{ preset: 'accuracy', points: 50, penalty: 25, streak: 10, partial: true }, 'zero', 3000]);
});

test('picked questions have their own time and weight', () => {
  const items = [{ id: 'q1', text: 'One?', seconds: '', weight: '1' }, { id: 'q2', text: 'Two?', seconds: '30', weight: '2' }, { id: 'q3', text: 'Three?', seconds: ' ', weight: '0' }];
  const draft = { ...blank, name: 'Friday', count: '', items };
  assert.equal(fault(draft), null);
  assert.deepEqual(newArena(draft, { lang: 'en' }).questions, { items: [{ id: 'q1' }, { id: 'q2', time_limit_ms: 30_000, points: 2 }, { id: 'q3', points: 0 }] });
  assert.deepEqual(newArena({ ...draft, mode: 'buzzer' }, {}).questions.items[1], { id: 'q2', time_limit_ms: 30_000 }, 'only a race has weights');
  assert.equal(fault({ ...draft, items: [{ ...items[0], seconds: '2' }] }), 'items');
});

test('a draft that cannot be sent names its field', () => {
  const faults = [{ name: ' ' }, { count: '0' }, { count: '2.5' }, { count: '' }, { seconds: 'x' }, { seconds: '9999' }, { reading: '61' }, { points: '0' }, { penalty: '' }, { streak: '201' }, { teams: ['Reds'] }, { teams: ['Reds', ' Reds'] }];
  assert.deepEqual(faults.map((fields) => fault({ ...blank, name: 'Friday', ...fields })), ['name', 'count', 'count', 'count', 'seconds', 'seconds', 'reading', 'points', 'penalty', 'streak', 'teams', 'teams']);
  assert.equal(fault({ ...blank, name: 'Friday', mode: 'survival', points: '0' }), null, 'a survival match has no points to set');
});

test('a refusal of the server is shown at its field', () => {
  const field = (message) => refusedField({ code: 'bad_request', message });
  assert.deepEqual([
    'name is refused, because all players see it: a word', 'teams[1].name is not one line', 'teams has a wrong length; use 2 to 64 teams',
    'questions.count is 10 and only 5 match', 'scoring.penalty is out of range; use 0 to 1000', 'the body is too long',
    'questions.items[3].time_limit_ms is out of range', "questions.ids contains a question that is not in the game's banks",
  ].map(field), ['name', 'teams', 'teams', 'count', 'penalty', null, 'items', 'picked']);
  assert.deepEqual([refusedField(null), refusedField({ code: 'forbidden', message: 'name is' })], [null, null]);
});
