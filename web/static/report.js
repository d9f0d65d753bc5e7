// What a report shows, derived from what the server says. All functions are pure.

const HARDEST = 3;

// hardest are the questions that the fewest of those who answered knew, at most three. A question
// that all knew is not among them.
export const hardest = (questions) =>
  questions.filter(({ void: isVoid, answered, right }) => !isVoid && right < answered).sort((a, b) => a.facility - b.facility).slice(0, HARDEST);

const VOID_MS = 60 * 60 * 1000;

// mayVoid says whether the host may still make a question void, at the time now (ms).
export const mayVoid = ({ mode, over_at }, now) => mode !== 'survival' && now < over_at + VOID_MS;

// settingsOf is what a report says of the draft of its arena.
export const settingsOf = ({ name, mode, questions }) => ({ name, mode, count: String(questions.length) });

// itemsOf are the questions of a report for the draft of another arena, with the settings that
// they had in a draft before. Void questions are left out.
export const itemsOf = ({ questions }, before) => questions.filter((question) => !question.void)
  .map(({ id, text }) => before?.find((item) => item.id === id) ?? { id, text, seconds: '', weight: '1' });
