// Everything at once for a long time: duels, arenas, readers, watchers and behaviours. The
// script watches the server's memory and goroutines, which must not grow.
//
//   k6 run -e VUS=20 -e DURATION=20m -e KEY_FILE=data/demo.key -e OPS=http://127.0.0.1:8081 loadtest/k6/soak.js

import { duration, ops, seconds, vus } from './lib/env.js';
import { matches, ofMatches, swift, thresholds } from './lib/checks.js';
import { checkBehaviourTotals, watchGrowth } from './lib/server.js';
import { needKey, report } from './behaviours.js';
import { hold } from './arena.js';
import { read, watch } from './boards.js';
import duel from './duel.js';

const some = (share) => Math.max(1, Math.round(vus * share));
const constant = (exec, share) => ({ executor: 'constant-vus', exec, vus: some(share), duration, gracefulStop: '30s' });

export const options = {
  scenarios: {
    duels: constant('duels', 0.5),
    arenas: constant('arenas', 0.2),
    boards: constant('boards', 0.2),
    watchers: constant('watchers', 0.1),
    behaviours: constant('behaviours', 0.1),
    ...(ops ? { server: { executor: 'per-vu-iterations', exec: 'server', vus: 1, maxDuration: `${Math.ceil(seconds(duration)) + 30}s` } } : {}),
  },
  thresholds: thresholds([...ofMatches, 'same', 'first', 'page', 'explain', 'watch', 'taken', ...(ops ? ['totals', 'flat'] : [])], { ...swift, matches: ['count>0'] }),
};

export function setup() {
  needKey();
  matches.add(0);
}

export { duel as duels, hold as arenas, read as boards, watch as watchers, report as behaviours };
export const server = () => watchGrowth(seconds(duration));
export const teardown = checkBehaviourTotals;
