import { current, phase, resultOf } from './scene.js';

// What a match of many shows of its field, derived from its facts as scene.js
// does. All functions are pure.

const POINTS_OF_A_FIRST = 100;

// isOut says whether a player is out of a survival match.
export const isOut = (match, playerID) =>
  match.out || match.rounds.some((round) => resultOf(round, playerID)?.out);

// partOf returns the role of a player in a match: `player`, `out` or `watching`.
export function partOf(arena, match, playerID) {
  if (arena.as !== 'player') return 'watching';
  return isOut(match, playerID) ? 'out' : 'player';
}

// survivors is how many are still in: of a void question all who were.
export const survivors = (match, rounds = match.rounds) =>
  rounds.reduce((alive, round) => (round?.closed && !round.closed.void ? round.closed.right : alive), match.found?.players ?? 0);

// fallen is how many the newest question has taken out so far.
export const fallen = (match) => survivors(match, match.rounds.slice(0, -1)) - survivors(match);

// teams are {id, name, score} with the best first, or none. The score is null
// where it is not known: of many players only the winners of a buzzer match are known.
export function teams(match) {
  if (!match.found?.teams) return [];
  const latest = match.over?.teams ?? match.rounds.findLast((round) => round?.closed?.teams)?.closed.teams;
  const scoreOf = latest ? ({ id }) => latest.find((team) => team.id === id)?.score ?? 0 : reckoned(match);
  return match.found.teams
    .map((team) => ({ ...team, score: scoreOf(team) }))
    .sort((a, b) => b.score - a.score);
}

function reckoned({ found, rounds, scores }) {
  if (found.mode === 'race') return () => 0;
  const isBuzzer = found.mode === 'buzzer';
  if (found.seats) {
    const worth = isBuzzer ? POINTS_OF_A_FIRST : 1;
    return ({ id }) => sum(found.seats.filter(({ team }) => team === id).map((seat) => scores[seat.id] ?? 0)) / worth;
  }
  if (!isBuzzer) return () => null;
  return ({ id }) => rounds.filter((round) => round?.closed?.first?.team === id).length;
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

// leader returns the single leading team or, without teams, player: {id, name, score}. It
// returns nothing on a tie.
export function leader(match) {
  const sides = match.found?.teams?.length ? teams(match) : roster(match).map((seat) => ({ ...seat, name: seat.nickname, score: match.scores[seat.id] ?? 0 }));
  const [first, second] = sides.sort((a, b) => b.score - a.score);
  return first?.score > (second?.score ?? 0) ? first : undefined;
}

// roster is who is known by name: {id, nickname, team?}. Of many players it is
// the best of the last question.
export function roster(match) {
  if (match.found?.seats) return match.found.seats;
  const closed = match.rounds.findLast((round) => round?.closed)?.closed;
  return (closed?.results ?? []).map(({ player, nickname }) => ({ id: player, nickname }));
}

// shown are the results of a closed round to list: the best, and the player's.
export function shown(round, playerID, most = 10) {
  const best = [...round.closed.results].sort((a, b) => b.score - a.score);
  const own = resultOf(round, playerID);
  const listed = best.slice(0, most);
  return !own || listed.some(({ player }) => player === playerID) ? listed : [...listed, own];
}

// raceStand is where a player of a race stands after a closed round: {rank, score, toNext}, the
// last the distance to the next higher score, if there is one. It is told with `own` or, with
// all the results, follows from them; nothing where it is not known.
export function raceStand(round, playerID) {
  const result = resultOf(round, playerID);
  if (!result || result.rank) return result && { rank: result.rank, score: result.score, toNext: result.to_next };
  const better = round.closed.results.map(({ score }) => score).filter((score) => score > result.score);
  return { rank: better.length + 1, score: result.score, toNext: better.length ? Math.min(...better) - result.score : undefined };
}

// isRight says whether a number or text that was given often is a right answer.
export function isRight({ value }, { value: right, tolerance, accepted = [] }) {
  if (typeof right === 'number') return Math.abs(value - right) <= tolerance;
  return [right, ...accepted].some((text) => text.toLowerCase() === value.toLowerCase());
}

// placeOf is a player's rank and score as last told; in a match of many by
// `own`, else by the final standing, or by a correction after it. Nothing where it was not told.
export function placeOf(match, playerID) {
  const standing = match.over?.standings.find(({ player }) => player === playerID);
  const place = standing ?? match.rounds.findLast((round) => round?.own?.player === playerID)?.own;
  return place && match.corrected ? { ...place, rank: match.corrected.rank, score: match.corrected.score } : place;
}

// playersOf is how many play, as far as is known: some may have come after the start.
export const playersOf = (match, playerID) =>
  Math.max(match.found?.players ?? 0, match.over?.standings.length ?? 0, placeOf(match, playerID)?.rank ?? 0);

// nextAct is what `arena.next` would do just now: {act, after, n}, where act is
// `open` (question n, counted from 1), `close` or `finish`.
export function nextAct(match) {
  const after = current(match);
  if (phase(match) === 'open') return { act: 'close', after, n: after + 1 };
  if (isLast(match)) return { act: 'finish', after, n: after + 1 };
  return { act: 'open', after, n: after + 2 };
}

const isLast = (match) =>
  current(match) + 1 >= (match.found?.questions ?? 0) || (match.found?.mode === 'survival' && survivors(match) <= 1);

// winner is who won a match that is over, {id, name, isTeam}; nothing after a
// draw, or without a result. A result read over HTTP names no winner.
export function winner({ found, over }) {
  const isTeam = ['buzzer', 'race'].includes(found?.mode) && Boolean(over.teams?.length);
  const sides = isTeam ? over.teams : over.standings.map((standing) => ({ ...standing, id: standing.player }));
  const firsts = sides.filter(({ rank }) => rank === 1);
  const id = over.winner ?? (firsts.length === 1 ? firsts[0].id : undefined);
  if (id === undefined) return undefined;
  const name = isTeam ? found.teams.find((team) => team.id === id)?.name : sides.find((side) => side.id === id)?.nickname;
  return { id, name: name ?? id, isTeam };
}
