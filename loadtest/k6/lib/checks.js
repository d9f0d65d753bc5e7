// What must hold while the load runs. Each truth is a check with a threshold of
// its own: a single breach ends k6 with 99.

import { check } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { p99 } from './env.js';

const truths = {
  seq: 'each numbered push is the next one',
  same: 'numbered pushes are the same for everyone',
  reply: 'a request is answered once, and nothing else is',
  twice: 'no second answer is accepted, and the first one is answered alike again',
  seen: "a player's answer is announced once",
  given: 'the answer that counts is the one that was sent',
  points: 'points are what the rules give',
  score: 'the score is the sum of the points',
  first: 'a question has one first at most, and all are told the same one',
  ledger: 'the ledger has the standing that was told',
  board: "a player's board is the sum of the settled matches",
  page: 'a page is in order, and equals share a rank',
  watch: 'a watched board comes at once, in order, and never an older one',
  explain: 'the parts of a value add up to it',
  taken: 'behaviours are taken and dropped as they deserve',
  books: 'behaviours: offered = sent + dropped + queued + in flight',
  refusal: 'who is turned away is told when to come again',
  goes: 'a match goes on to its end',
  flat: 'memory and goroutines of the server stay as they were',
};

let told = 0; // of this VU: a flood of the same helps nobody

// holds checks a truth; why, a function, says what was seen instead.
export function holds(truth, ok, why) {
  check(null, { [truths[truth]]: () => ok }, { truth });
  if (!ok && told++ < 5) console.error(`UNTRUE ${truth}: ${why()}`);
  return ok;
}

export const answered = new Trend('answered_ms'); // from an answer to its `answered`
export const matches = new Counter('matches'); // seen to their end, by each player
export const lost = new Counter('connections_lost'); // not by us, by code
export const refused = new Counter('refused'); // requests, by code

// thresholds are those of a script that is to check these truths.
export function thresholds(names, more) {
  const all = { ...more };
  for (const name of [...names, 'refusal']) all[`checks{truth:${name}}`] = ['rate==1'];
  return all;
}

// swift is the threshold of a script that waits for answers.
export const swift = p99 > 0 ? { answered_ms: [`p(99)<${p99}`] } : {};

export const ofMatches = ['seq', 'reply', 'twice', 'seen', 'given', 'points', 'score', 'ledger', 'board', 'goes'];
