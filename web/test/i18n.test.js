import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problem, speak } from '../static/i18n.js';

globalThis.document ??= { documentElement: {} };

// inBoth returns what an error says in English and in Chinese.
const inBoth = (error) => ['en', 'zh'].map((lang) => {
  speak(lang, 'Quiz Night');
  return problem(error);
});

test('the title of the document is that of the game', () => {
  speak('en', 'Quiz Night');
  assert.equal(document.title, 'Quiz Night · quiz battles');
  assert.equal(document.documentElement.lang, 'en');
});

test('a known code is translated, without the words of the server', () => {
  assert.deepEqual(inBoth({ code: 'arena_full', message: 'the arena is full; you may watch' }), ['The arena is full.', '竞技场已满。']);
});

test('a reason says more than its code', () => {
  const refusal = { code: 'nickname_invalid', message: 'this nickname cannot be used: …' };
  assert.deepEqual(inBoth({ ...refusal, reason: 'too_short' }), ['This name is too short. Use at least 2 characters.', '这个名字太短，至少要 2 个字符。']);
  assert.equal(inBoth({ ...refusal, reason: 'not_invented_yet' })[0], 'This name cannot be used.');
});

test('an unknown code says what the server says', () => {
  assert.deepEqual(inBoth({ code: 'not_invented_yet', message: 'the sky is green' }), ['the sky is green', 'the sky is green']);
  assert.equal(inBoth({ code: 'not_invented_yet', message: '' })[0], 'Something went wrong on the server. Try again.');
});

test('a refusal for a while says for how long', () => {
  assert.deepEqual(inBoth({ code: 'rate_limited', retry_after_ms: 2100 }), ['Too many requests. Try again in 3 s.', '操作太频繁。请在 3 秒后重试。']);
  assert.equal(inBoth({ code: 'overloaded' })[0], 'The server is full right now. Try again in a moment.');
  assert.equal(inBoth({ code: 'arena_full', retry_after_ms: 2100 })[0], 'The arena is full.');
});
