// Duels at a load that is sustained, then at three times it at once, then as
// before. Who is turned away is told when to come again, nobody is told an
// untruth, and answers of all that were let in are as swift as P99 says; those
// after the spike as before it.
//
//   k6 run -e VUS=20 -e DURATION=1m -e P99=500 loadtest/k6/spike.js

import exec from 'k6/execution';
import { duration, p99, seconds, vus } from './lib/env.js';
import { matches, ofMatches, thresholds } from './lib/checks.js';
import { hangUp, play } from './duel.js';

const third = seconds(duration) / 3;
const recovery = 10; // s

export const options = {
  scenarios: {
    spike: {
      executor: 'ramping-vus',
      startVUs: vus,
      gracefulRampDown: '30s',
      gracefulStop: '30s',
      stages: [
        { target: vus, duration: `${third}s` },
        { target: 3 * vus, duration: '1s' },
        { target: 3 * vus, duration: `${third}s` },
        { target: vus, duration: '1s' },
        { target: vus, duration: `${third}s` },
      ],
    },
  },
  thresholds: thresholds(ofMatches, {
    'matches{phase:before}': ['count>0'], // a time that was never taken is below any
    'matches{phase:spike}': ['count>0'],
    'matches{phase:after}': ['count>0'],
    ...(p99 > 0 ? {
      'answered_ms{phase:before}': [`p(99)<${p99}`],
      'answered_ms{phase:spike}': [`p(99)<${2 * p99}`],
      'answered_ms{phase:after}': [`p(99)<${p99}`],
    } : {}),
  }),
};

export const setup = () => ['before', 'spike', 'after'].forEach((phase) => matches.add(0, { phase }));

// phase is that of the contest that begins now; what is asked while the server
// recovers is looked at by nobody.
function phase() {
  const at = (Date.now() - exec.scenario.startTime) / 1000;
  if (at < third) return 'before';
  if (at < 2 * third + 2) return 'spike';
  return at < 2 * third + 2 + recovery ? 'recovery' : 'after';
}

export default async function () {
  await play(phase);
  hangUp();
}
