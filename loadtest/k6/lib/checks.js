// The rules that must hold while the load runs. Each rule is a check with a threshold of
// its own: a single breach ends k6 with 99.

import { check } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { p99 } from './env.js';

const rules = {
  seq: 'each numbered push is the next one',
  same: 'numbered pushes are the same for everyone',
  reply: 'a request is answered once, and nothing else is',
  twice: 'no second answer is accepted, and the first one is answered alike again',
  seen: "a player's answer is announced once",
  given: 'the answer that counts is the one that was sent',
  points: 'points are what the rules give',
  score: 'the score is the sum of the points',
  first: 'a question has one first at most, and all players see the same one',
  ledger: 'the ledger has the standing that was reported',
  board: "a player's board is the sum of the settled matches",
  page: 'a page is in order, and equals share a rank',
  watch: 'a watched board comes at once, in order, and never an older one',
  explain: 'the parts of a value add up to it',
  taken: 'behaviours are taken and dropped as they deserve',
  totals: 'behaviours: offered = sent + dropped + queued + in flight',
  refusal: 'a refusal says when to retry',
  goes: 'a match goes on to its end',
  flat: 'memory and goroutines of the server stay as they were',
};

let reported = 0; // failures that this VU has printed; it prints at most 5

// holds checks a rule. The function describe returns what was seen when the rule is broken.
export function holds(rule, ok, describe) {
  check(null, { [rules[rule]]: () => ok }, { rule });
  if (!ok && reported++ < 5) console.error(`FAILED ${rule}: ${describe()}`);
  return ok;
}

export const answered = new Trend('answered_ms'); // from an answer to its `answered`
export const matches = new Counter('matches'); // played to the end, counted once per player
export const lost = new Counter('connections_lost'); // closed by the server or the network, by code
export const refused = new Counter('refused'); // requests, by code

// thresholds returns the thresholds of a script that checks the named rules.
export function thresholds(names, more) {
  const all = { ...more };
  for (const name of [...names, 'refusal']) all[`checks{rule:${name}}`] = ['rate==1'];
  return all;
}

// swift is the threshold on the time of answers.
export const swift = p99 > 0 ? { answered_ms: [`p(99)<${p99}`] } : {};

export const ofMatches = ['seq', 'reply', 'twice', 'seen', 'given', 'points', 'score', 'ledger', 'board', 'goes'];
