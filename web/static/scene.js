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

// mark is how a round went for a player: `right`, `wrong`, `none` (no answer),
// `asking` (not yet revealed) or `ahead` (not yet asked).
export function mark(match, index, playerID) {
  const round = match.rounds[index];
  if (!round?.question) return 'ahead';
  const result = resultOf(round, playerID);
  if (!result) return 'asking';
  if (result.given === null) return 'none';
  return result.correct ? 'right' : 'wrong';
}

export const resultOf = (round, playerID) =>
  round?.closed?.results.find((result) => result.player === playerID);

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

// isRated says whether a match counts: a duel with a bot does not.
export const isRated = (match) => !(match.found?.seats ?? []).some((seat) => seat.bot);
