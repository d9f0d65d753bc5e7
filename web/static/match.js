// A match as this page knows it: a set of facts, each set once
// by one push. Facts only add up, so pushes that arrive twice, late or out of order (a
// replay beside live ones) lead to the same match. scene.js derives the
// display from the facts. All functions are pure.
//
//   {id, seq, floor, found, rounds: [round…], scores: {player: score}, scoredAt: {player: question}, out,
//    over, ended, settled, corrected?}
//   round: {question, closesAt, ownClosesAt, extended, seen: {player: true}, revealed, closed, own, mine}
//   mine:  {given, state, elapsed_ms?, error?}; state is `sent`, `held`, in a
//          buzzer match `wrong` or `first`, or `late` or `refused`
//
// ownClosesAt is when the question closes for this page's player, if that has extra time, else 0.
// own is the result of a question for this page's player in a large match,
// whose closed.results name only the best.
// seq: every push up to this number is known. floor is the number of the
// last match.state, which replaces all earlier pushes.

export const begin = (id) => ({
  id, seq: 0, floor: 0, found: null, rounds: [], scores: {}, scoredAt: {}, out: false, over: null, ended: false, settled: null,
});

const facts = {
  'match.found': (match, data) => ({ ...match, found: data }),
  'question': (match, data) => asked(match, data),
  'question.extended': (match, data) => extended(match, data.question, data.closes_at),
  'answer.seen': (match, data) =>
    inRound(match, data.question, (round) => ({ seen: { ...round.seen, [data.player]: true } })),
  'question.closed': (match, data) =>
    scored(inRound(match, data.question, () => ({ closed: data, revealed: true })), data.question, data.results),
  'match.over': (match, data) => scored({ ...match, over: data, ended: true }, Infinity, data.standings),
};

// take adds a numbered push: {match, gap}. gap says that pushes before it are
// missing and match.sync should ask for those after match.seq.
export function take(match, { type, seq, data }) {
  if (seq <= match.seq) return { match, gap: false };
  const next = facts[type] ? facts[type](match, data) : match;
  const follows = seq === match.seq + 1 || seq === match.floor + 1;
  return { match: follows ? { ...next, seq } : next, gap: !follows };
}

// takeOwn adds an `own` push: what a closed question did to this page's player.
// A player who was out before gets a place too, but no result.
export function takeOwn(match, player, own) {
  const watched = match.out || match.rounds.slice(0, own.question).some((round) => round?.own?.out);
  return scored(inRound(match, own.question, () => ({ own: { ...own, player, watched } })), own.question, [{ player, score: own.score }]);
}

// takeDeadline adds an `own.deadline` push: this page's player has more time for a question.
export const takeDeadline = (match, { question, closes_at }) => inRound(match, question, () => ({ ownClosesAt: closes_at }));

// takeState adds a match.state. Replays may follow it, and are taken as ever.
export function takeState(match, state) {
  let next = { ...match, found: state.found, floor: state.seq, out: match.out || Boolean(state.out), ended: match.ended || state.phase === 'over' };
  if (state.question) next = asked(next, state.question);
  if (state.question && state.phase !== 'open') next = inRound(next, state.question.question, () => ({ revealed: true }));
  if (state.own_deadline) next = takeDeadline(next, state.own_deadline);
  if (state.your_answer) next = answered(next, state.your_answer);
  return scored(next, asOf(state), state.scores);
}

// answering notes the player's own answer on its way.
export const answering = (match, question, given) =>
  inRound(match, question, () => ({ mine: { given, state: 'sent' } }));

// answered notes that the server holds an answer: {question, elapsed_ms,
// given?}, in a buzzer match with correct and first.
export const answered = (match, { question, elapsed_ms, given, ...judged }) =>
  inRound(match, question, ({ mine }) => ({ mine: { given: given ?? mine?.given, state: held(judged), elapsed_ms } }));

// refused stores why the server refused an answer. An earlier accepted answer
// stays. After a correctable error the player may answer again.
export function refused(match, question, error) {
  if (error.code === 'duplicate_answer') return answered(match, { question, ...error.accepted });
  const state = error.code === 'question_closed' ? 'late' : 'refused';
  const out = match.out || error.code === 'eliminated';
  return inRound({ ...match, out }, question, ({ mine }) => ({ mine: { ...mine, state, error } }));
}

function held({ correct, first }) {
  if (first) return 'first';
  return correct === false ? 'wrong' : 'held';
}

function asked(match, question) {
  return inRound(match, question.question, ({ closesAt }) => ({
    question,
    closesAt: Math.max(closesAt, question.closes_at),
  }));
}

function extended(match, question, closesAt) {
  return inRound(match, question, (round) => ({ closesAt: Math.max(round.closesAt, closesAt), extended: true }));
}

const fresh = { question: null, closesAt: 0, ownClosesAt: 0, extended: false, seen: {}, revealed: false, closed: null, own: null, mine: null };

function inRound(match, index, change) {
  const rounds = [...match.rounds];
  const round = rounds[index] ?? fresh;
  rounds[index] = { ...round, ...change(round) };
  return { ...match, rounds };
}

// asOf is the last revealed question of a match.state, -1 for none.
const asOf = ({ question, phase }) => (question ? question.question - (phase === 'open' ? 1 : 0) : -1);

// scored takes scores as they were after a question; later ones stay.
function scored(match, question, tellings = []) {
  const scores = { ...match.scores };
  const scoredAt = { ...match.scoredAt };
  for (const { player, score } of tellings) {
    if ((scoredAt[player] ?? -1) > question) continue;
    scores[player] = score;
    scoredAt[player] = question;
  }
  return { ...match, scores, scoredAt };
}
