// With FAULTS=1, what the clients receive breaks each rule now and then. The checks must find
// every breach. Otherwise nothing is changed.

const counts = {}; // how often each fault was possible

// due reports whether a fault is due. It is due once in so many calls of a VU.
function due(fault, every) {
  counts[fault] = (counts[fault] || 0) + 1;
  return counts[fault] % every === 0;
}

// increase adds one to all numbers with a name.
const increase = (name, text) => text.replace(new RegExp(`("${name}":)(\\d+)`, 'g'), (_, head, n) => head + (Number(n) + 1));

const on = __ENV.FAULTS === '1';

// frames returns what a client receives instead of a frame. It breaks at most one rule.
export function frames(raw) {
  if (!on) return [raw];
  const is = (type) => raw.includes(`"type":"${type}"`);
  if (is('error') && raw.includes('"duplicate_answer"')) { // the server accepts a second answer
    return [raw.replace(/"type":"error","data":\{.*/, '"type":"answered","data":{"question":0,"at":1,"elapsed_ms":1}}')];
  }
  if (is('answered') && raw.includes('"first":false')) return [raw.replace('"first":false', '"first":true')]; // a second player is first
  if (is('answered') && due('reply', 7)) return [raw, raw]; // a request has two replies
  if (is('answer.seen') && due('seen', 5)) return [raw, raw];
  if (is('question') && due('same', 9)) return [raw.replace('"text":"', '"text":"Say: ')]; // it differs from that of the other players
  if (is('question.closed') && due('points', 4)) return [increase('points', raw)];
  if (is('question.closed') && due('given', 4)) return [raw.replace(/"given":\{[^}]*\}/g, '"given":{"choice":7}')];
  if (is('question.closed') && due('seq', 9)) return []; // a push is missing
  if (is('board')) return [increase('rank', raw)]; // the board has no first rank
  if (is('settled') && due('ledger', 3)) return [increase('rating', raw)]; // it differs from that in the ledger
  if (is('match.over') && due('goes', 4)) return [raw.replace(/"reason":"[a-z]+"/, '"reason":"abandoned"')];
  return [raw];
}

// status returns the status of a response instead of its own. A refusal then does not say when
// to retry.
export const status = (name, own) => (on && name === 'GET leaderboards' && due('refusal', 2) ? 429 : own);

// body returns the body of a response instead of its own.
export function body(name, own) {
  if (!on) return own;
  if (name === 'POST /behaviours') return increase('accepted', own);
  if (name === 'GET matches/{match}') return increase('score', own);
  if (name === 'GET metrics') return own.replace(/^laststand_behaviours_offered_total\{[^}]*\} \d+/gm, '$&1'); // ten times the number, plus one
  if (!name.startsWith('GET leaderboards/')) return own;
  const [head, explained] = increase('rank', increase('score', own)).split('"explain"');
  return explained === undefined ? head : `${head}"explain"${increase('value', explained)}`;
}
