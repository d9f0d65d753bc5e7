// Arenas: each VU plays one arena after another, as the host and as all players. The VU can
// therefore compare what they receive: each question has one first player, and all receive
// the same.
//
//   k6 run -e VUS=4 -e PLAYERS=50 -e DURATION=1m -e KEY_FILE=data/demo.key loadtest/k6/arena.js
//
// Without the key, guests are hosts, and no arena counts for boards.

import { setTimeout } from 'k6/timers';
import { duration, players, vus } from './lib/env.js';
import { Contest } from './lib/contest.js';
import { Hall } from './lib/hall.js';
import { fetch, post, token } from './lib/http.js';
import { Player, newName, newPlayer } from './lib/player.js';
import { holds, matches, ofMatches, swift, thresholds } from './lib/checks.js';

export const options = {
  scenarios: { arenas: { executor: 'constant-vus', vus, duration, gracefulStop: '30s' } },
  thresholds: thresholds([...ofMatches, 'same', 'first'], { ...swift, matches: ['count>0'] }),
};

export const setup = () => matches.add(0);

const questions = Number(__ENV.QUESTIONS || 5);
const teams = ['red', 'green', 'blue'].map((id) => ({ id, name: id }));
const mine = []; // players of this VU
let held = 0; // arenas that this VU has played

// hold plays the next arena: buzzer and survival in turn, each with the pace auto and with
// the pace host.
export async function hold() {
  const mode = __ENV.MODE || ['buzzer', 'survival'][held % 2];
  const pace = __ENV.PACE || ['auto', 'host'][(held >> 1) % 2];
  held++;
  const host = newHost();
  if (!host) return;
  const made = post('/arenas', {
    mode, pace, name: `k6 ${mode}`, ranked: host.ranked, questions: { count: questions },
    ...(mode === 'buzzer' ? { teams } : {}),
  }, host.token);
  if (!made || !(await host.connect())) return;
  await stage(made, host, pace, teams.length && mode === 'buzzer');
  for (const player of [host, ...mine]) if (player) player.close();
}

// newHost returns a player who may make arenas that count, if there is a key.
function newHost() {
  const name = newName('host');
  const minted = token('host', name);
  const host = minted ? new Player({ player_id: name, token: minted }) : newPlayer();
  if (host) host.ranked = Boolean(minted);
  return host;
}

// stage seats all players and plays the match.
async function stage(made, host, pace, inTeams) {
  const hall = new Hall(host.ranked);
  const watching = new Contest(host, { hall, watches: true });
  const joined = await host.request('arena.join', { code: made.code, as: 'host' });
  const contests = joined && joined.type === 'arena.joined' ? await seat(made, hall, inTeams) : [];
  if (contests.length < 2) {
    for (const contest of [watching, ...contests]) contest.finish(false);
    return;
  }
  if (pace === 'host') lead(host, made.arena_id, hall);
  await host.request('arena.start', { arena_id: made.arena_id });
  const whole = await Promise.all([watching, ...contests].map((contest) => contest.end));
  contests.forEach(({ player }, i) => {
    if (!whole[i + 1]) giveUp(player);
  });
  if (host.ranked && whole.every(Boolean)) await checkLedger(watching.match, contests);
}

// seat returns the contests of all players who got a seat.
async function seat(made, hall, inTeams) {
  const all = await Promise.all(Array.from({ length: players || 10 }, async (_, i) => {
    const player = mine[i] || newPlayer(made.code);
    if (!player) return null;
    mine[i] = player;
    const contest = new Contest(player, { hall });
    const team = inTeams ? { team: teams[i % teams.length].id } : {};
    const joined = (await player.connect()) && (await player.request('arena.join', { code: made.code, ...team }));
    if (joined && joined.type === 'arena.joined') return contest;
    contest.finish(false);
    giveUp(player);
    return null;
  }));
  return all.filter(Boolean);
}

// giveUp removes a player who may still be in a match. Another player takes its place.
function giveUp(player) {
  player.close();
  mine[mine.indexOf(player)] = undefined;
}

// lead opens one question after another.
function lead(host, arena, hall) {
  const next = (after) => setTimeout(() => host.request('arena.next', { arena_id: arena, after }), 100);
  hall.onfound = ({ starts_at }) => setTimeout(() => next(-1), Math.max(0, starts_at - Date.now()));
  hall.onclosed = (question) => question + 1 < questions && next(question);
}

// checkLedger reads all pages of the match.
async function checkLedger(match, contests) {
  const kept = new Map();
  for (let cursor = ''; cursor !== undefined;) {
    const page = await fetch(`/matches/${match}?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, 'GET matches/{match}');
    if (!page) return;
    for (const standing of page.standings) kept.set(standing.player, standing.score);
    cursor = page.next_cursor;
  }
  for (const { player, score } of contests) {
    holds('ledger', kept.get(player.id) === score, () => `${match}: ${player.id} received the score ${score}, the ledger has ${kept.get(player.id)}`);
  }
}

export default hold;
