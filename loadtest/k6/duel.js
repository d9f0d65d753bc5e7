// Players meet in duels, and check everything they receive against the contract.
//
//   k6 run -e VUS=20 -e DURATION=1m loadtest/k6/duel.js

import { setTimeout, clearTimeout } from 'k6/timers';
import { duration, players, vus } from './lib/env.js';
import { Contest } from './lib/contest.js';
import { newPlayer } from './lib/player.js';
import { matches, ofMatches, swift, thresholds } from './lib/checks.js';

export const options = {
  scenarios: { duels: { executor: 'constant-vus', vus, duration, gracefulStop: '30s' } },
  thresholds: thresholds(ofMatches, { ...swift, matches: ['count>0'] }),
};

export const setup = () => matches.add(0); // a threshold on a metric without samples would not be checked

const mine = []; // players of this VU, kept from one iteration to the next

// play lets each player of the VU play one duel.
export async function play(phase) {
  await Promise.all(Array.from({ length: players || 4 }, (_, i) => duel(i, phase)));
}

async function duel(i, phase) {
  const player = mine[i] || newPlayer();
  if (!player) return pause(1000);
  mine[i] = player;
  const contest = new Contest(player, { phase });
  if (!player.ws && !(await player.connect())) {
    contest.finish(false);
    return pause(1000);
  }
  const queued = await player.request('duel.join', {});
  if (!queued || queued.type !== 'duel.queued') {
    contest.finish(false);
    return pause((queued && queued.data.retry_after_ms) || 1000);
  }
  if (!(await contest.end)) {
    player.close(); // it may still be in a match, so another player takes its place
    mine[i] = undefined;
  }
}

// hangUp closes the connections, because the iteration would not end otherwise.
export function hangUp() {
  for (const player of mine) if (player) player.close();
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function () {
  await play();
  hangUp();
}
