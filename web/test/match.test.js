import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, answering, begin, refused, take, takeState } from '../static/match.js';
import { current, isRated, mark, pending, phase, podium, seats, settled } from '../static/scene.js';

const found = { mode: 'duel', questions: 2, players: 2, seats: [{ id: 'me', nickname: 'Me' }, { id: 'it', nickname: 'It' }], starts_at: 1000 };
const asked = (question) => ({ question, of: 2, kind: 'single', text: '?', choices: ['a', 'b'], opens_at: 1000, closes_at: 2000 });
const result = (player, given, points, score) => ({ player, nickname: player, given, correct: points > 0, elapsed_ms: given && 10, points, score });
const closed = (question, mine, its) => ({ question, reason: 'all_answered', answer: { choice: 1 }, answered: 2, right: 1, results: [mine, its] });

const pushes = [
  ['match.found', found],
  ['question', asked(0)],
  ['question.extended', { question: 0, closes_at: 2500 }],
  ['answer.seen', { question: 0, player: 'it' }],
  ['question.closed', closed(0, result('me', { choice: 1 }, 150, 150), result('it', { choice: 0 }, 0, 0))],
  ['question', asked(1)],
  ['question.closed', closed(1, result('me', null, 0, 150), result('it', { choice: 1 }, 120, 120))],
  ['match.over', { reason: 'finished', winner: 'me', standings: [{ rank: 1, player: 'me', score: 150 }, { rank: 2, player: 'it', score: 120 }] }],
].map(([type, data], i) => ({ type, match: 'm', seq: i + 1, data }));

const play = (match, list) => list.reduce((now, push) => take(now, push).match, match);
const upTo = (n) => play(begin('m'), pushes.slice(0, n));

test('the phases follow the pushes', () => {
  const phases = pushes.map((_, i) => phase(upTo(i + 1)));
  assert.deepEqual(phases, ['countdown', 'open', 'open', 'open', 'revealed', 'open', 'revealed', 'over']);
});

test('a push that comes again changes nothing', () => {
  const match = upTo(5);
  for (const push of pushes.slice(0, 5)) {
    const again = take(match, push);
    assert.equal(again.match, match);
    assert.equal(again.gap, false);
  }
});

test('a gap is reported, and closed by the replay in whatever order', () => {
  const before = upTo(2);
  const jumped = take(before, pushes[4]);
  assert.equal(jumped.gap, true);
  assert.equal(jumped.match.seq, 2, 'sync must ask from the last push without a gap');
  const healed = play(jumped.match, pushes.slice(2));
  assert.deepEqual(healed, upTo(8));
});

test('a replay after a state does not turn the page back', () => {
  const state = { seq: 6, phase: 'open', found, question: asked(1), own: { score: 150 }, scores: [{ player: 'me', score: 150 }, { player: 'it', score: 0 }] };
  let match = takeState(begin('m'), state);
  assert.equal(phase(match), 'open');
  for (const push of pushes.slice(0, 6)) {
    match = take(match, push).match;
    assert.equal(current(match), 1);
    assert.equal(podium(match, seats(match, 'me').me).score, 150);
  }
  assert.equal(match.seq, 6);
  assert.equal(mark(match, 0, 'me'), 'right', 'the replay fills in what went before');
});

test('after a state whose past is no longer kept, the next push is no gap', () => {
  const state = { seq: 6, phase: 'open', found, question: asked(1), scores: [] };
  const next = take(takeState(begin('m'), state), pushes[6]);
  assert.equal(next.gap, false);
  assert.equal(next.match.seq, 7);
});

test('a state knows the own answer, a reveal and the end', () => {
  const own = { question: 1, given: { choice: 0 }, at: 1, elapsed_ms: 7 };
  const state = { seq: 6, phase: 'open', found, question: asked(1), your_answer: own, scores: [] };
  assert.deepEqual(takeState(begin('m'), state).rounds[1].mine, { given: { choice: 0 }, state: 'held', elapsed_ms: 7 });
  assert.equal(phase(takeState(begin('m'), { ...state, phase: 'revealed' })), 'revealed');
  assert.equal(phase(takeState(begin('m'), { ...state, phase: 'over' })), 'over');
});

test('an answer waits to be sent again until the server holds it', () => {
  const sent = answering(upTo(2), 0, { choice: 1 });
  assert.deepEqual(pending(sent), { question: 0, given: { choice: 1 } });
  const held = answered(sent, { question: 0, elapsed_ms: 33 });
  assert.equal(pending(held), null);
  assert.deepEqual(held.rounds[0].mine, { given: { choice: 1 }, state: 'held', elapsed_ms: 33 });
  assert.equal(pending(play(sent, pushes.slice(2, 5))), null, 'nor after the close');
});

test('a refusal says why; a duplicate shows what is held', () => {
  const sent = answering(upTo(2), 0, { choice: 1 });
  assert.equal(refused(sent, 0, { code: 'question_closed' }).rounds[0].mine.state, 'late');
  assert.equal(refused(sent, 0, { code: 'invalid_answer', message: 'no' }).rounds[0].mine.state, 'refused');
  const accepted = { question: 0, given: { choice: 0 }, at: 1, elapsed_ms: 5 };
  assert.deepEqual(refused(sent, 0, { code: 'duplicate_answer', accepted }).rounds[0].mine, { given: { choice: 0 }, state: 'held', elapsed_ms: 5 });
});

test('pushes of unknown types are counted and ignored', () => {
  const { match, gap } = take(upTo(2), { type: 'fireworks', match: 'm', seq: 3, data: {} });
  assert.equal(gap, false);
  assert.deepEqual(match, { ...upTo(2), seq: 3 });
});

test('podiums and marks', () => {
  const match = upTo(7);
  assert.deepEqual(['me', 'it'].map((id) => mark(match, 1, id)), ['none', 'right']);
  assert.equal(mark(upTo(2), 1, 'me'), 'ahead');
  assert.equal(mark(upTo(2), 0, 'me'), 'asking');
  assert.deepEqual([podium(upTo(4), { id: 'it' }).answered, podium(upTo(4), { id: 'me' }).answered], [true, false]);
  assert.equal(podium(match, { id: 'it' }).score, 120);
  assert.equal(upTo(3).rounds[0].closesAt, 2500);
});

test('a duel with a bot is not rated', () => {
  assert.equal(isRated(upTo(1)), true);
  const bot = { ...found, seats: [found.seats[0], { id: 'b', nickname: 'B', bot: true }] };
  assert.equal(isRated(take(begin('m'), { type: 'match.found', seq: 1, data: bot }).match), false);
});

test('the final rating takes the place of the provisional one', () => {
  const own = { player: 'me', rating: 1510, rating_delta: 10 };
  assert.deepEqual(settled(own, { settled: null }, 'me'), own);
  assert.deepEqual(settled(own, { settled: { standings: {} } }, 'me'), own);
  assert.deepEqual(settled(own, { settled: { standings: {}, rating: 1495 } }, 'me'), { player: 'me', rating: 1495, rating_delta: -5 });
  assert.deepEqual(settled({ ...own, player: 'it' }, { settled: { standings: {}, rating: 1495 } }, 'me'), { ...own, player: 'it' });
});
