// The run of CI: a few seconds of duels, arenas, readers and behaviours at once, with every
// rule checked. The script does not check how fast the server is.
//
//   go run ./loadtest/k6 short

import { duration, vus } from './lib/env.js';
import { matches, ofMatches, thresholds } from './lib/checks.js';
import { checkBehaviourTotals } from './lib/server.js';
import { needKey, report } from './behaviours.js';
import { hold } from './arena.js';
import { read, readAll, watchBoard } from './boards.js';
import duel from './duel.js';

const constant = (exec, n) => ({ executor: 'constant-vus', exec, vus: n, duration, gracefulStop: __ENV.GRACE || '30s' });

export const options = {
  scenarios: {
    duels: constant('duels', vus),
    arenas: constant('arenas', 2),
    boards: constant('boards', 1),
    watchers: constant('watchers', 1),
    behaviours: constant('behaviours', 1),
  },
  thresholds: thresholds([...ofMatches, 'same', 'first', 'page', 'explain', 'watch', 'taken', 'totals'], { matches: ['count>0'] }),
};

export function setup() {
  needKey();
  matches.add(0);
}

export { duel as duels, hold as arenas, read as boards, report as behaviours };

// watchers watch the value board, which has entries as soon as a match is over. On an empty
// board, lies would not be found. A ranking by accuracy or time needs more answers than
// this script gives.
export const watchers = () => watchBoard('all', 'value');

// teardown makes checks for which the run may have left no time.
export function teardown() {
  readAll();
  checkBehaviourTotals();
}
