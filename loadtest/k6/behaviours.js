// A game's own service posts behaviours, including invalid ones, and counts the replies. At
// the end the script checks the server's counts.
//
//   k6 run -e VUS=4 -e DURATION=1m -e KEY_FILE=data/demo.key -e OPS=http://127.0.0.1:8081 loadtest/k6/behaviours.js

import { sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { duration, key, think, vus } from './lib/env.js';
import { post, random, token } from './lib/http.js';
import { checkBehaviourTotals } from './lib/server.js';
import { holds, thresholds } from './lib/checks.js';

export const options = {
  scenarios: { behaviours: { executor: 'constant-vus', vus, duration } },
  thresholds: thresholds(['taken', 'totals'], { behaviours_taken: ['count>0'] }),
};

const taken = new Counter('behaviours_taken');
const size = Number(__ENV.BATCH || 50);

export function setup() {
  needKey();
  taken.add(0);
}

export function needKey() {
  if (!key) throw new Error('KEY_FILE: behaviours are posted by a service: name the file with the key of the game');
}

const service = `k6_${random(8)}`; // of this VU
let minted = null;

const behaviour = (more) => ({
  id: random(20), type: 'answer', at: Date.now(), player: `p_${random(8)}`, account: 'guest', data: { question: 1 }, ...more,
});

// report posts a batch with three behaviours that the server must refuse.
export function report() {
  minted = minted || token('service', service);
  const good = Array.from({ length: size }, () => behaviour());
  const faults = [behaviour({ id: good[0].id }), behaviour({ at: Date.now() - 600_000 }), behaviour({ type: '' })];
  const reply = post('/behaviours', { behaviours: [...good, ...faults] }, minted);
  if (!reply) return sleep(1);
  taken.add(reply.accepted);
  const { queue_full: full = 0, duplicate, too_old: old, invalid, ...others } = reply.dropped;
  const right = duplicate === 1 && old === 1 && invalid === 1 && Object.keys(others).length === 0;
  holds('taken', right && reply.accepted + full === size, () => `${size} good ones and 3 faulty ones: ${JSON.stringify(reply)}`);
  sleep((Math.random() * think) / 1000);
}

export const teardown = checkBehaviourTotals;

export default report;
