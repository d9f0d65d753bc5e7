// Duels at a sustainable load, then suddenly at three times that load, then as before. A
// refused client must learn when to retry, and every message must be true. The answers to
// all admitted players must be as fast as P99 demands, also after the spike.
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
    'matches{phase:before}': ['count>0'], // a time without samples is below every limit
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

// phase returns the phase of the contest that starts now. Answers during the recovery of
// the server are not checked.
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
