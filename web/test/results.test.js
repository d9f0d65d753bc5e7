import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blank, draftOf, keepDraft } from '../static/draft.js';
import { hardest, itemsOf, mayVoid, settingsOf } from '../static/report.js';
import { patiently } from '../static/results.js';

// refusing fails some times with a code, and then succeeds.
function refusing(times, code, retry_after_ms) {
  const asks = { n: 0, sleeps: [] };
  const ask = async () => {
    if (++asks.n <= times) throw { code, retry_after_ms };
    return 'here';
  };
  return { asks, answer: () => patiently(['unavailable'], ask, async (ms) => asks.sleeps.push(ms)) };
}

test('what is on its way is asked for again, as late as the server wants', async () => {
  const { asks, answer } = refusing(2, 'unavailable', 3000);
  assert.equal(await answer(), 'here');
  assert.deepEqual(asks, { n: 3, sleeps: [3000, 3000] });
});

test('a refusal for good is not asked again, and any other not for ever', async () => {
  const forbidden = refusing(1, 'forbidden');
  await assert.rejects(forbidden.answer(), { code: 'forbidden' });
  assert.equal(forbidden.asks.n, 1);
  const never = refusing(Infinity, 'unavailable');
  await assert.rejects(never.answer(), { code: 'unavailable' });
  assert.deepEqual([never.asks.n, never.asks.sleeps[0]], [8, 1000]);
});

test('the hardest questions are those that the fewest knew', () => {
  const question = (question, right, answered) => ({ question, right, answered, facility: answered ? right / answered : 0 });
  const questions = [question(0, 4, 4), question(1, 1, 4), question(2, 0, 0), question(3, 3, 4), question(4, 0, 4), question(5, 2, 4)];
  assert.deepEqual(hardest(questions).map(({ question }) => question), [4, 1, 5]);
  assert.equal(questions[0].question, 0, 'the report keeps its order');
  questions[4].void = true;
  assert.deepEqual(hardest(questions).map(({ question }) => question), [1, 5, 3]);
});

test('a host makes questions void for an hour, except in survival', () => {
  const hour = 3_600_000;
  const may = [['race', 0], ['race', hour - 1], ['race', hour], ['survival', 0]].map(([mode, later]) => mayVoid({ mode, over_at: 7 }, 7 + later));
  assert.deepEqual(may, [true, true, false, false]);
});

test('an arena is played again with its settings', () => {
  const draft = { ...blank, name: 'Friday', penalty: '50' };
  assert.deepEqual(draftOf(keepDraft(null, 'a_1', draft), 'a_1'), draft);
  for (const text of [null, '', '{', 'null']) assert.equal(draftOf(text, 'a_1'), undefined);
  const many = Array.from({ length: 25 }, (_, i) => `a_${i}`).reduce((text, id) => keepDraft(text, id, draft), null);
  assert.deepEqual([draftOf(many, 'a_4'), draftOf(many, 'a_5'), Object.keys(JSON.parse(many)).length], [undefined, draft, 20]);
  assert.deepEqual(settingsOf({ name: 'Friday', mode: 'race', questions: [1, 2, 3] }), { name: 'Friday', mode: 'race', count: '3' });
  const before = [{ id: 'q2', text: 'Two?', seconds: '30', weight: '2' }];
  const report = { questions: [{ id: 'q1', text: 'One?' }, { id: 'q2', text: 'Two?' }, { id: 'q3', text: 'Three?', void: true }] };
  assert.deepEqual(itemsOf(report, before), [{ id: 'q1', text: 'One?', seconds: '', weight: '1' }, before[0]]);
  assert.equal(itemsOf(report).length, 2);
});
