import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Clock } from '../static/clock.js';
import { afterClose, backoff } from '../static/closing.js';
import { t, word } from '../static/i18n.js';
import { choiceOf } from '../static/keys.js';

const close = (code, more = {}) => afterClose({ code, reason: '', attempt: 0, ...more }, () => 0.5);

test('the close codes of the contract', () => {
  for (const code of [4408, 4450, 1006, 1012, 1001, 1011]) assert.deepEqual(close(code), { wait: 250 }, String(code));
  for (const code of [4400, 4403, 4409, 4410, 4499, 1009]) assert.deepEqual(close(code), { stop: true }, String(code));
  assert.ok(close(4429).wait >= 60_000);
});

test('overload waits for as long as the reason says', () => {
  assert.equal(close(1013, { reason: '{"retry_after_ms":4000}' }).wait, 4500);
  for (const reason of ['', 'soon', '{}', '{"retry_after_ms":"x"}', 'null']) assert.equal(close(1013, { reason }).wait, 1000);
});

test('a token that is refused is renewed once', () => {
  assert.deepEqual(close(4401), { wait: 250, renew: true });
  assert.deepEqual(close(4401, { renewed: true }), { stop: true });
});

test('the backoff doubles, is capped, and jitters over its whole span', () => {
  const most = [0, 1, 2, 10, 100].map((attempt) => backoff(attempt, () => 1));
  assert.deepEqual(most, [500, 1000, 2000, 15_000, 15_000]);
  assert.equal(backoff(3, () => 0), 0);
});

test('a text that may be missing has its names filled in like any other', () => {
  assert.equal(word('line.1013', '', { n: 4 }), t('line.1013', { n: 4 }));
  assert.match(t('line.1013', { n: 4 }), / 4 s/);
  assert.equal(word('line.1006', 'lost', { n: 4 }), 'lost');
});

test('the clock believes the shortest round trip, and forgets old samples', () => {
  let now = 0;
  const clock = new Clock(() => now);
  const ping = (sentAt, receivedAt, serverAt) => {
    now = receivedAt;
    clock.sample(sentAt, serverAt);
  };
  ping(0, 400, 5000); // offset 4800, bounded by 200
  assert.equal(clock.now(), 5200);
  ping(1000, 1020, 6010); // offset 5000, bounded by 10
  assert.equal(clock.now(), 6020);
  ping(2000, 2500, 9000);
  assert.equal(clock.now(), 7500);
  for (let i = 0; i < 8; i++) ping(3000, 3100, 8150);
  assert.equal(clock.now(), 8200, 'eight newer samples push the old one out');
});

test('keys name choices, but not while typing', () => {
  const press = (key, more = {}) => choiceOf({ key, target: { tagName: 'BODY' }, ...more });
  assert.deepEqual(['1', '8', 'a', 'H', '9', 'i', 'Enter', 'Tab'].map((key) => press(key)), [0, 7, 0, 7, -1, -1, -1, -1]);
  assert.equal(press('1', { target: { tagName: 'INPUT', type: 'text' } }), -1);
  assert.equal(press('1', { target: { tagName: 'INPUT', type: 'checkbox' } }), 0);
  for (const held of ['ctrlKey', 'metaKey', 'altKey', 'repeat', 'isComposing']) assert.equal(press('1', { [held]: true }), -1);
});
