import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callGame } from '../static/api.js';
import { Arenas } from '../static/arenas.js';
import { Contest } from '../static/contest.js';
import { Duel } from '../static/duel.js';
import { winner } from '../static/field.js';
import { Login } from '../static/login.js';
import { Host } from '../static/host.js';
import { MessageRouter } from '../static/messagerouter.js';
import { closesAt } from '../static/scene.js';
import { createStore } from '../static/store.js';

const place = { arena_id: 'a_1', mode: 'survival', name: 'Friday', as: 'player', teams: [], players: 1, state: 'lobby' };
const found = { mode: 'survival', arena_id: 'a_1', questions: 3, players: 2, seats: [], starts_at: 0 };
const welcome = (playing) => ({ kind: 'online', welcome: { player_id: 'me', nickname: 'Me', playing } });
const done = () => new Promise((resolve) => setImmediate(resolve));

// page builds the page's rooms on a line that answers by the table, and notes
// what was asked.
function page(answers = {}, kept = {}) {
  const asked = [];
  const request = async (type, data) => {
    asked.push([type, data]);
    const answer = answers[type] ?? {};
    if (answer.code) throw answer;
    return answer;
  };
  const store = createStore({ player: { id: 'me', nickname: 'Me' }, session: { kind: 'online' }, queue: null, arenaScreen: null, arena: null, match: null, notice: null });
  const box = { get: (key) => kept[key] ?? null, set: (key, value) => { kept[key] = value; } };
  const login = new Login({ store, account: {}, connect() {} });
  const contest = new Contest({ store, request });
  const duel = new Duel({ store, login, contest, request });
  const arenas = new Arenas({ store, login, contest, request, box });
  const host = new Host({ store, account: {}, login, arenas, request, box });
  const router = new MessageRouter({ store, login, contest, duel, arenas });
  return { store, asked, kept, contest, duel, arenas, host, router };
}

const push = (type, seq, data) => ({ type, match: 'm_1', seq, data });

test('a player joins, is led from the lobby into the match, and leaves', async () => {
  const p = page({ 'arena.join': place });
  await p.arenas.join('123456', { as: 'player', team: 't1' });
  assert.deepEqual(p.asked.at(-1), ['arena.join', { code: '123456', as: 'player', team: 't1' }]);
  p.router.receive({ type: 'arena.lobby', data: { arena_id: 'a_1', teams: [], players: 7 } });
  assert.equal(p.store.get().arena.players, 7);
  p.router.receive(push('match.found', 1, found));
  assert.equal(p.store.get().match.found, found);
  await p.arenas.leave();
  assert.deepEqual(p.asked.at(-1), ['arena.leave', { arena_id: 'a_1' }]);
  p.router.receive(push('question', 2, { question: 0 }));
  assert.deepEqual([p.store.get().arena, p.store.get().match], [null, null], 'what still comes of it is not heard');
});

test('who watches a match that is on asks for it from its beginning', async () => {
  const p = page({ 'arena.join': { ...place, as: 'spectator', state: 'playing', match: 'm_1' } });
  await p.arenas.watch('123456');
  assert.deepEqual(p.asked, [['arena.join', { code: '123456', as: 'spectator' }], ['match.sync', { match: 'm_1', seq: 0 }]]);
  assert.equal(p.store.get().arenaScreen, null);
});

test('what keeps a player out is said', async () => {
  for (const code of ['arena_full', 'arena_started', 'arena_locked', 'kicked']) {
    const p = page({ 'arena.join': { code } });
    await p.arenas.join('123456', {});
    assert.equal(p.store.get().notice.code, code);
    assert.equal(p.store.get().arena, null);
  }
  const p = page({ 'arena.join': { code: 'not_found' } });
  await p.arenas.join('123456', {});
  assert.equal(p.store.get().notice.code, 'no_arena');
});

test('a cut in the lobby: the place is taken again, and the match found', async () => {
  const answers = { 'arena.join': { ...place, team: 't2' } };
  const p = page(answers);
  await p.arenas.join('123456', {});
  answers['arena.join'] = { ...answers['arena.join'], state: 'playing', match: 'm_1' };
  p.router.connection(welcome({ match: 'm_1', seq: 2, arena_id: 'a_1' }));
  await done();
  assert.deepEqual(p.asked.slice(1), [['arena.join', { code: '123456', as: 'player', team: 't2' }], ['match.sync', { match: 'm_1', seq: 0 }]]);
});

test('a cut in the match: hello resumes it, and nothing is asked twice', async () => {
  const p = page({ 'arena.join': place });
  await p.arenas.join('123456', {});
  p.router.receive(push('match.found', 1, found));
  assert.deepEqual(p.contest.resume(), { match: 'm_1', seq: 1 });
  for (const playing of [{ match: 'm_1', seq: 3, arena_id: 'a_1' }, undefined]) p.router.connection(welcome(playing)); // as player, as spectator
  await done();
  assert.equal(p.asked.length, 1);
});

test('a page that was left comes back by what it kept', async () => {
  const p = page({ 'arena.join': { ...place, as: 'spectator' } });
  await p.arenas.watch('123456');
  const again = page({ 'arena.join': { ...place, as: 'spectator' } }, p.kept);
  again.arenas.restore({ arena: null, watch: false });
  again.router.connection(welcome());
  await done();
  assert.deepEqual(again.asked, [['arena.join', { code: '123456', as: 'spectator' }]]);
  assert.equal(again.store.get().arena.name, 'Friday');
});

test('who has a place is not led to another arena, and told so', async () => {
  const p = page({ 'arena.join': place }, { 'laststand.arena': '{"code":"123456","as":"player"}' });
  p.store.patch({ arenaScreen: { screen: 'gate', code: '654321', look: {} } });
  p.arenas.restore({ arena: null, watch: false });
  p.router.connection(welcome());
  await done();
  const { arena, arenaScreen, notice } = p.store.get();
  assert.deepEqual([arena.id, arenaScreen, notice], ['a_1', null, { code: 'already_playing' }]);
});

test('an arena that is long over is forgotten without a word', async () => {
  const p = page({ 'arena.join': { code: 'not_found' } }, { 'laststand.arena': '{"code":"123456","as":"player"}' });
  p.arenas.restore({ arena: null, watch: false });
  p.router.connection(welcome());
  await done();
  assert.deepEqual([p.store.get().arena, p.store.get().notice, p.kept['laststand.arena']], [null, null, '']);
});

test('an arena that only the welcome names is waited in, or played', async () => {
  const p = page({ 'match.sync': { code: 'not_in_match' } });
  p.router.connection(welcome({ match: 'm_1', seq: 0, arena_id: 'a_1' }));
  await done();
  assert.deepEqual([p.store.get().arena.id, p.store.get().match, p.store.get().notice], ['a_1', null, null], 'it has not begun');
  p.router.receive(push('match.found', 1, found));
  assert.equal(p.store.get().match.found, found);
});

test('the end of a match that cannot be resumed is told', async () => {
  const p = page({ 'arena.join': place });
  await p.arenas.join('123456', {});
  p.router.receive(push('match.found', 1, found));
  p.router.receive({ re: 1, type: 'error', data: { code: 'not_in_match' } });
  assert.deepEqual([p.store.get().match, p.store.get().arena, p.store.get().notice.code], [null, null, 'not_in_match']);
});

test('who is kicked is out of the match too', async () => {
  const p = page({ 'arena.join': place });
  await p.arenas.join('123456', {});
  p.router.receive(push('match.found', 1, found));
  p.router.receive({ type: 'arena.kicked', data: { arena_id: 'a_1', reason: 'kicked' } });
  assert.deepEqual([p.store.get().match, p.store.get().arena.ended.type], [null, 'kicked']);
  p.router.connection(welcome());
  await done();
  assert.equal(p.asked.length, 1, 'and does not come back by itself');
});

test('an own push is heard for the match that is on', async () => {
  const p = page();
  p.router.receive(push('match.found', 1, { ...found, players: 120 }));
  const own = { question: 0, given: null, correct: false, elapsed_ms: null, points: 0, score: 40, rank: 9 };
  p.router.receive({ type: 'own', data: { ...own, match: 'm_2' } });
  assert.equal(p.store.get().match.rounds.length, 0);
  p.router.receive({ type: 'own', data: { ...own, match: 'm_1' } });
  assert.equal(p.store.get().match.scores.me, 40);
});

test('a player with extra time has an own close', async () => {
  const p = page();
  p.router.receive(push('match.found', 1, found));
  p.router.receive(push('question', 2, { question: 0, opens_at: 0, closes_at: 1000 }));
  const round = () => p.store.get().match.rounds[0];
  assert.equal(closesAt(round()), 1000);
  const own = { match: 'm_1', question: 0, closes_at: 2000, extra: 100 };
  p.router.receive({ type: 'own.deadline', data: { ...own, match: 'm_2' } });
  assert.equal(closesAt(round()), 1000);
  p.router.receive({ type: 'own.deadline', data: own });
  assert.equal(closesAt(round()), 2000);
  p.router.receive({ type: 'match.state', data: { seq: 2, phase: 'open', found, question: { question: 0, opens_at: 0, closes_at: 1500 }, own_deadline: { ...own, closes_at: 2500 }, own: { score: 0 }, scores: [] } });
  assert.deepEqual([round().closesAt, closesAt(round())], [1500, 2500]);
});

test('a corrected match shows its new result, in place of the winner that was told', async (t) => {
  const standing = (player, rank, score) => ({ player, nickname: player, rank, score });
  const counted = { mode: 'race', standings: [standing('x', 1, 50), standing('me', 2, 0)], teams: [] };
  t.mock.method(globalThis, 'fetch', async (url, options) => {
    assert.deepEqual([url, options.cache], ['/v1/games/com.example.quiz/matches/m_1?', 'no-cache']);
    return Response.json(counted);
  });
  callGame('com.example.quiz');
  const p = page();
  p.router.receive(push('match.found', 1, { ...found, mode: 'race' }));
  p.router.receive(push('match.over', 2, { reason: 'finished', winner: 'me', standings: [standing('me', 1, 99), standing('x', 2, 50)] }));
  assert.equal(winner(p.store.get().match).id, 'me');
  p.router.receive({ type: 'match.corrected', data: { match: 'm_1', question: 0, score: 0, rank: 2 } });
  assert.equal(p.store.get().match.corrected.rank, 2, 'the own place needs no request');
  while (p.store.get().match.over.winner) await done();
  assert.deepEqual([winner(p.store.get().match).id, p.store.get().match.over.reason], ['x', 'finished']);
  p.router.receive({ type: 'match.corrected', data: { match: 'm_2', question: 0, score: 7, rank: 1 } });
  assert.equal(p.store.get().match.corrected.rank, 2, 'another match');
});

test('only the host has the list of those with extra time', async () => {
  const extra = [{ player: 'p_1', nickname: 'Ada', percent: 50 }];
  const p = page({ 'arena.join': { ...place, as: 'host' }, 'arena.extend': { extra } });
  await p.arenas.join('123456', { as: 'host' });
  assert.deepEqual(p.store.get().arena.extra, []);
  await p.host.extend({ nickname: 'Ada', percent: 50 });
  assert.deepEqual(p.store.get().arena.extra, extra);
  assert.deepEqual(p.asked.at(-1), ['arena.extend', { arena_id: 'a_1', nickname: 'Ada', percent: 50 }]);
  assert.ok(!p.kept['laststand.arena'].includes('Ada'), 'it is not stored in the browser');
});

test('a host asks for what the contract names', async () => {
  const p = page({ 'arena.join': { ...place, as: 'host' } });
  await p.arenas.join('123456', { as: 'host' });
  await p.host.lock();
  await p.host.start();
  await p.host.next(-1);
  await p.host.kick('p_1', false);
  await p.host.kick('p_2', true);
  await p.host.playToo('');
  await p.host.close();
  const arena_id = 'a_1';
  assert.deepEqual(p.asked.slice(1), [
    ['arena.lock', { arena_id }], ['arena.start', { arena_id }], ['arena.next', { arena_id, after: -1 }],
    ['arena.kick', { arena_id, player: 'p_1' }], ['arena.kick', { arena_id, player: 'p_2', ban: true }],
    ['arena.join', { code: '123456', as: 'player' }], ['arena.close', { arena_id }],
  ]);
  assert.deepEqual([p.store.get().arena.locked, p.store.get().arena.removed], [true, ['p_1', 'p_2']]);
});

test('a duel goes on as before: queued, led into the match, left', async () => {
  const p = page();
  await p.duel.play('Me', { lang: 'en' });
  assert.deepEqual(p.asked.at(-1), ['duel.join', { lang: 'en' }]);
  p.router.connection(welcome());
  await done();
  assert.deepEqual(p.asked.at(-1), ['duel.join', { lang: 'en' }], 'asked again on a new line');
  p.router.receive(push('match.found', 1, { mode: 'duel', questions: 1, players: 2, seats: [] }));
  assert.deepEqual([p.store.get().queue, p.store.get().match.id], [null, 'm_1']);
  await p.duel.leave();
  assert.deepEqual(p.asked.at(-1), ['match.leave', { match: 'm_1' }]);
});
