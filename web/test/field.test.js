import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fallen, isOut, leader, nextAct, partOf, placeOf, roster, shown, survivors, teams, winner } from '../static/field.js';
import { answered, answering, begin, refused, take, takeOwn, takeState } from '../static/match.js';
import { mark, resultOf, takesAnswer } from '../static/scene.js';

const sides = [{ id: 'r', name: 'Reds' }, { id: 'b', name: 'Blues' }];
const seats = [{ id: 'me', nickname: 'Me', team: 'r' }, { id: 'x', nickname: 'X', team: 'r' }, { id: 'y', nickname: 'Y', team: 'b' }];
const asked = (question) => ['question', { question, of: 3, kind: 'single', choices: ['a', 'b'], opens_at: 0, closes_at: 1000 }];
const result = (player, correct, score, more) => ({ player, nickname: player, given: { choice: 0 }, correct, elapsed_ms: 9, points: 0, score, ...more });
const closed = (question, results, more) => ['question.closed', { question, answer: { choice: 1 }, answered: 3, right: results.filter(({ correct }) => correct).length, results, ...more }];
const over = (more) => ['match.over', { reason: 'finished', standings: [], ...more }];

const play = (...pushes) => pushes.reduce((match, [type, data], i) => take(match, { type, seq: i + 1, data }).match, begin('m'));
const buzzer = (...pushes) => play(['match.found', { mode: 'buzzer', questions: 3, players: 3, seats, teams: sides }], ...pushes);
const survival = (...pushes) => play(['match.found', { mode: 'survival', questions: 3, players: 3, seats }], ...pushes);
const many = (mode, ...pushes) => play(['match.found', { mode, questions: 3, players: 120, teams: mode === 'buzzer' ? sides : undefined }], ...pushes);

const firstIsY = closed(0, [result('y', true, 100), result('me', false, 0), result('x', false, 0)], { first: { player: 'y', nickname: 'Y', team: 'b', elapsed_ms: 9 } });

test('the reply of a buzzer says who is first and who is shut out', () => {
  const open = answering(buzzer(asked(0)), 0, { choice: 0 });
  const state = (reply) => answered(open, { question: 0, elapsed_ms: 5, ...reply }).rounds[0].mine.state;
  assert.deepEqual([state({ correct: false, first: false }), state({ correct: true, first: true }), state({})], ['wrong', 'first', 'held']);
});

test('an answer may be given again only where it was refused', () => {
  const open = answering(buzzer(asked(0)), 0, { choice: 0 });
  const takes = (match) => takesAnswer(match.rounds[0]);
  assert.equal(takes(buzzer(asked(0))), true);
  assert.equal(takes(open), false);
  assert.equal(takes(refused(open, 0, { code: 'question_not_open', retry_after_ms: 500 })), true, 'the team was shut out for a while');
  assert.equal(takes(refused(open, 0, { code: 'question_closed' })), false);
  assert.equal(takes(answered(open, { question: 0, elapsed_ms: 5, correct: false })), false);
});

test('teams score their firsts, the best first', () => {
  assert.deepEqual(teams(buzzer(asked(0), firstIsY)), [{ id: 'b', name: 'Blues', score: 1 }, { id: 'r', name: 'Reds', score: 0 }]);
  assert.deepEqual(teams(many('buzzer', asked(0), firstIsY)).map(({ score }) => score), [1, 0], 'of many players by the firsts that were told');
  assert.deepEqual(teams(buzzer(asked(0), firstIsY, over({ teams: [{ rank: 1, id: 'r', score: 7 }] }))).map(({ id, score }) => [id, score]), [['r', 7], ['b', 0]]);
  assert.deepEqual([teams(begin('m')), teams(survival(asked(0)))], [[], []]);
});

test('who leads does so alone', () => {
  assert.equal(leader(buzzer(asked(0))), undefined);
  assert.equal(leader(buzzer(asked(0), firstIsY)).name, 'Blues');
  const alone = play(['match.found', { mode: 'buzzer', questions: 3, players: 3, seats: seats.map(({ team, ...seat }) => seat) }], asked(0), firstIsY);
  assert.deepEqual([leader(alone).name, leader(alone).score], ['Y', 100]);
});

const oneFalls = closed(0, [result('me', true, 150), result('x', true, 120), result('y', false, 0, { out: true })]);

test('who answers wrong is out, and the others are counted', () => {
  const match = survival(asked(0), oneFalls, asked(1));
  assert.deepEqual(['me', 'x', 'y'].map((id) => isOut(match, id)), [false, false, true]);
  assert.equal(survivors(match), 2);
  assert.equal(fallen(survival(asked(0), oneFalls)), 1);
  assert.equal(fallen(match), 0, 'the next question has taken nobody out yet');
});

test('a void question takes nobody out', () => {
  const match = survival(asked(0), oneFalls, asked(1), closed(1, [result('me', false, 150), result('x', false, 120)], { void: true }));
  assert.equal(survivors(match), 2);
  assert.equal(mark(match, 1, 'me'), 'void');
  assert.equal(isOut(match, 'me'), false);
});

test('what somebody does follows from the place and the match', () => {
  const match = survival(asked(0), oneFalls, asked(1));
  const part = (as, id) => partOf({ as }, match, id);
  assert.deepEqual([part('player', 'me'), part('player', 'y'), part('spectator', 'z'), part('host', 'h')], ['player', 'out', 'watching', 'watching']);
});

test('that a player is out is also told by a state, by `own` and by a refusal', () => {
  const state = { seq: 2, phase: 'open', found: { mode: 'survival' }, out: true, scores: [] };
  assert.equal(isOut(takeState(begin('m'), state), 'me'), true);
  assert.equal(isOut(takeOwn(many('survival', asked(0), closed(0, [])), 'me', { question: 0, given: null, score: 0, out: true }), 'me'), true);
  assert.equal(isOut(refused(answering(survival(asked(0)), 0, {}), 0, { code: 'eliminated' }), 'me'), true);
});

test('who looks on is told no result of their own', () => {
  const match = survival(asked(0), oneFalls, asked(1), closed(1, [result('me', true, 300)]));
  assert.deepEqual([mark(match, 1, 'y'), mark(match, 1, 'me'), mark(match, 2, 'y')], ['unknown', 'right', 'ahead']);
});

test('of many players the own result comes apart, before or after the close', () => {
  const own = { match: 'm', question: 0, given: { choice: 1 }, correct: true, elapsed_ms: 7, points: 100, score: 100, rank: 37 };
  const before = takeOwn(many('buzzer', asked(0)), 'me', own);
  assert.equal(mark(before, 0, 'me'), 'asking', 'it is shown with the close');
  const match = take(before, { type: 'question.closed', seq: 3, data: firstIsY[1] }).match;
  assert.deepEqual([mark(match, 0, 'me'), mark(match, 0, 'x')], ['wrong', 'wrong'], 'the best are told to all');
  const elsewhere = takeOwn(many('buzzer', asked(0), closed(0, [result('y', true, 100)])), 'me', own);
  assert.equal(resultOf(elsewhere.rounds[0], 'me').rank, 37);
  assert.equal(resultOf(elsewhere.rounds[0], 'x'), undefined);
  assert.equal(elsewhere.scores.me, 100);
  assert.deepEqual([placeOf(elsewhere, 'me').rank, placeOf(elsewhere, 'x')], [37, undefined]);
});

test('of many players `own` goes on for who is out, but tells only the place', () => {
  const own = (question, rank) => ({ question, given: null, correct: false, elapsed_ms: null, points: 0, score: 0, out: true, rank });
  const field = many('survival', asked(0), closed(0, []), asked(1), closed(1, []));
  const match = [own(0, 40), own(1, 35)].reduce((state, push) => takeOwn(state, 'me', push), field);
  assert.deepEqual([mark(match, 0, 'me'), mark(match, 1, 'me')], ['none', 'unknown']);
  assert.equal(placeOf(match, 'me').rank, 35);
});

test('after a correction a player has the place that it gave', () => {
  const standings = [{ player: 'me', rank: 1, score: 200 }, { player: 'x', rank: 2, score: 90 }];
  const match = { ...many('race', asked(0), over({ standings })), corrected: { match: 'm', question: 0, rank: 2, score: 10 } };
  assert.deepEqual([placeOf(match, 'me').rank, placeOf(match, 'me').score], [2, 10]);
});

test('the results that are shown are the best, and the own', () => {
  const all = Array.from({ length: 12 }, (_, i) => result(`p${i}`, true, i));
  const [, data] = closed(0, all);
  const names = (id) => shown({ closed: data }, id).map(({ player }) => player);
  assert.deepEqual(names('z').length, 10);
  assert.deepEqual(names('p0').slice(-2), ['p2', 'p0']);
  assert.equal(names('p11')[0], 'p11');
});

test('a host sees what going on would do', () => {
  const next = (...pushes) => nextAct(buzzer(...pushes));
  assert.deepEqual(next(), { act: 'open', after: -1, n: 1 });
  assert.deepEqual(next(asked(0)), { act: 'close', after: 0, n: 1 });
  assert.deepEqual(next(asked(0), firstIsY), { act: 'open', after: 0, n: 2 });
  assert.deepEqual(next(asked(2), closed(2, [])), { act: 'finish', after: 2, n: 3 });
  const lastOne = closed(0, [result('me', true, 150), result('x', false, 0, { out: true }), result('y', false, 0, { out: true })]);
  assert.equal(nextAct(survival(asked(0), lastOne)).act, 'finish');
});

test('players are known by their seats or, of many, by the last result', () => {
  assert.equal(roster(buzzer()), seats);
  assert.deepEqual(roster(many('buzzer')), []);
  assert.deepEqual(roster(many('buzzer', asked(0), closed(0, [result('y', true, 100)]))), [{ id: 'y', nickname: 'y' }]);
});

test('the winner is a team, a player, or nobody', () => {
  const standings = [{ rank: 1, player: 'me', nickname: 'Me' }, { rank: 2, player: 'x', nickname: 'X' }];
  const ranked = [{ rank: 1, id: 'b', score: 2 }, { rank: 2, id: 'r', score: 1 }];
  assert.deepEqual(winner(buzzer(over({ standings, teams: ranked, winner: 'b' }))), { id: 'b', name: 'Blues', isTeam: true });
  assert.deepEqual(winner(survival(over({ standings, winner: 'me' }))), { id: 'me', name: 'Me', isTeam: false });
  assert.equal(winner(survival(over({ standings }))).id, 'me', 'read over HTTP, where no winner is named');
  assert.equal(winner(survival(over({ standings: standings.map((one) => ({ ...one, rank: 1 })) }))), undefined);
  assert.equal(winner(buzzer(over({ reason: 'closed' }))), undefined);
});
