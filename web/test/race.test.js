import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRight, playersOf, raceStand, teams, winner } from '../static/field.js';
import { begin, take, takeOwn, takeState } from '../static/match.js';

const sides = [{ id: 'r', name: 'Reds' }, { id: 'b', name: 'Blues' }];
const asked = (question) => ['question', { question, of: 3, kind: 'single', choices: ['a', 'b'], opens_at: 0, closes_at: 1000 }];
const result = (player, score, more) => ({ player, nickname: player, given: { choice: 0 }, correct: true, elapsed_ms: 9, points: 0, score, ...more });
const closed = (question, results, more) => ['question.closed', { question, answer: { choice: 1 }, answered: 3, right: 1, results, ...more }];
const play = (...pushes) => pushes.reduce((match, [type, data], i) => take(match, { type, seq: i + 1, data }).match, begin('m'));
const race = (...pushes) => play(['match.found', { mode: 'race', questions: 3, players: 3, teams: sides }], ...pushes);

test('a penalty takes points, whatever is told first', () => {
  const first = closed(0, [result('me', 150)]);
  const second = closed(1, [result('me', 100, { points: -50, correct: false })]);
  assert.equal(race(asked(0), first, asked(1), second).scores.me, 100);
  assert.equal(race(asked(1), second, asked(0), first).scores.me, 100, 'a replay of the first question changes nothing');
  const state = { seq: 5, phase: 'revealed', found: { mode: 'race' }, question: { question: 1, closes_at: 9 }, scores: [{ player: 'me', score: 100 }] };
  assert.equal(takeState(race(asked(0), first), state).scores.me, 100);
  assert.equal(takeState(race(asked(0), first, asked(1), second, asked(2)), { ...state, question: { question: 2, closes_at: 9 }, phase: 'open' }).scores.me, 100);
  assert.equal(takeOwn(race(asked(0), first), 'me', { question: 1, given: null, score: 100 }).scores.me, 100);
});

test('a player stands behind those with more points, equals share the place', () => {
  const round = { closed: closed(0, [result('x', 200), result('y', 180), result('me', 120), result('z', 120)])[1] };
  assert.deepEqual(['x', 'me', 'z'].map((id) => raceStand(round, id)), [
    { rank: 1, score: 200, toNext: undefined }, { rank: 3, score: 120, toNext: 60 }, { rank: 3, score: 120, toNext: 60 }]);
  assert.equal(raceStand(round, 'host'), undefined);
});

test('of many players the place comes with the own result', () => {
  const own = { question: 0, given: null, correct: false, elapsed_ms: null, points: 0, score: 70, rank: 412, to_next: 5 };
  const match = takeOwn(race(asked(0), closed(0, [result('x', 200)])), 'me', own);
  assert.deepEqual(raceStand(match.rounds[0], 'me'), { rank: 412, score: 70, toNext: 5 });
});

test('the teams of a race are those that the last result told', () => {
  const ranked = (r, b) => ({ teams: [{ rank: 1, id: 'b', score: b }, { rank: 2, id: 'r', score: r }] });
  const scores = (match) => teams(match).map(({ id, score }) => [id, score]);
  assert.deepEqual(scores(race(asked(0))), [['r', 0], ['b', 0]]);
  const match = race(asked(0), closed(0, [], ranked(120, 300)), asked(1), closed(1, [], ranked(450, 300)), asked(2));
  assert.deepEqual(scores(match), [['r', 450], ['b', 300]]);
  const over = race(['match.over', { reason: 'finished', standings: [], winner: 'b', ...ranked(1, 9) }]);
  assert.deepEqual([scores(over), winner(over)], [[['b', 9], ['r', 1]], { id: 'b', name: 'Blues', isTeam: true }]);
});

test('players who came later count', () => {
  const standings = ['a', 'b', 'c', 'd'].map((player, i) => ({ player, rank: i + 1, score: 0 }));
  assert.equal(playersOf(race(['match.over', { reason: 'finished', standings }]), 'a'), 4);
  assert.equal(playersOf(race(['match.over', { reason: 'finished', standings: [{ player: 'me', rank: 60 }] }]), 'me'), 60);
});

test('the right ones of the most frequent answers are known', () => {
  const number = { value: 1969, tolerance: 1 };
  assert.deepEqual([1968, 1970, 1971].map((value) => isRight({ value }, number)), [true, true, false]);
  const text = { value: 'Paris', accepted: ['City of Light'] };
  assert.deepEqual(['paris', 'city of light', 'rome'].map((value) => isRight({ value }, text)), [true, true, false]);
});
