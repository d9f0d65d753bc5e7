// What a match shows, derived from its facts (match.js). All functions are pure.

// phase is `countdown`, `open`, `revealed` or `over`.
export function phase(match) {
  if (match.ended) return 'over';
  const round = match.rounds[current(match)];
  if (!round?.question) return 'countdown';
  return round.revealed ? 'revealed' : 'open';
}

// current is the index of the newest question, -1 before the first.
export const current = (match) => match.rounds.length - 1;

// seats are {me, them}: the two podiums. them is absent until it is known.
export function seats(match, playerID) {
  const all = match.found?.seats ?? [];
  return {
    me: all.find((seat) => seat.id === playerID),
    them: all.find((seat) => seat.id !== playerID),
  };
}

// podium is what one seat shows in the newest round: its score, whether it has
// answered, and once revealed what that was worth.
export function podium(match, seat) {
  const round = match.rounds[current(match)];
  const result = resultOf(round, seat?.id);
  return {
    score: match.scores[seat?.id] ?? 0,
    answered: Boolean(round?.seen[seat?.id]),
    result: match.ended ? null : result,
  };
}

// mark returns the result of a round for a player: `right`, `wrong`, `none` (no answer),
// `void` (the question does not count), `unknown` (a spectator, or no result received),
// `asking` (not revealed yet) or `ahead` (not asked yet).
export function mark(match, index, playerID) {
  const round = match.rounds[index];
  if (!round?.question) return 'ahead';
  if (!round.closed) return 'asking';
  if (round.closed.void) return 'void';
  const result = resultOf(round, playerID);
  if (!result) return 'unknown';
  return outcomeOf(result);
}

// outcomeOf is how a result is marked: `right`, `wrong` or `none`.
export function outcomeOf({ given, correct }) {
  if (given === null) return 'none';
  return correct ? 'right' : 'wrong';
}

// resultOf is what a closed round did to a player; of many players it is known
// for the best and for this page's own.
export function resultOf(round, playerID) {
  if (!round?.closed) return undefined;
  const isTheirs = (result) => result.player === playerID;
  return round.closed.results.find(isTheirs) ?? [round.own].find((own) => own && !own.watched && isTheirs(own));
}

// pending is the player's answer that the server has not confirmed, to be sent
// again: {question, given}, or null.
export function pending(match) {
  const question = current(match);
  const mine = match.rounds[question]?.mine;
  const open = phase(match) === 'open' && mine?.state === 'sent';
  return open ? { question, given: mine.given } : null;
}

// picks are the indexes of the choices in a given or right answer.
export function picks(answer) {
  if (answer?.choices) return answer.choices;
  return Number.isInteger(answer?.choice) ? [answer.choice] : [];
}

// takesAnswer says whether a round's answer may still be given, or given again.
export const takesAnswer = ({ revealed, mine }) => !revealed && (!mine || mine.state === 'refused');

// closesAt is when a round closes for this page's player.
export const closesAt = (round) => Math.max(round.closesAt, round.ownClosesAt);

// isRated says whether a match counts: a duel with a bot does not.
export const isRated = (match) => !(match.found?.seats ?? []).some((seat) => seat.bot);

// settled is a standing with the final rating where it is known: match.over has
// a provisional one, and `settled` tells this page's player the final one.
export function settled(standing, match, playerID) {
  const final = match.settled?.rating;
  if (standing.player !== playerID || final === undefined || standing.rating === undefined) return standing;
  return { ...standing, rating: final, rating_delta: standing.rating_delta + final - standing.rating };
}
