// The rules of a match according to the contract. The answers are right more often than
// not, after a question has been seen closed once.

// right reports whether the given answer is correct. It returns undefined for text, because
// only the server normalises text.
export function right(kind, given, answer) {
  if (given === null || given === undefined) return false;
  switch (kind) {
    case 'single':
    case 'boolean':
      return given.choice === answer.choice;
    case 'multiple':
      return [...(given.choices || [])].sort().join() === [...answer.choices].sort().join(); // a faulty server may send another kind
    case 'number':
      return Math.abs(given.value - answer.value) <= answer.tolerance;
    default:
      return undefined;
  }
}

// points returns the points of an answer. limit and elapsed are in ms.
export function points(mode, result, limit, first) {
  if (!result.correct) return 0;
  if (mode === 'buzzer') return first ? 100 : 0;
  return 100 + Math.floor((100 * (limit - Math.min(result.elapsed_ms, limit))) / limit);
}

const known = new Map(); // solutions of this VU, by the question's text

export function learn(question, answer) {
  const indexes = answer.choices || (answer.choice === undefined ? [] : [answer.choice]);
  known.set(question.text, { texts: indexes.map((i) => question.choices[i]), value: answer.value });
}

// answers returns two different answers to a question. If the solution is known, the first
// one is right three times out of four.
export function answers(question) {
  const solution = Math.random() < 0.75 ? known.get(question.text) : undefined;
  const texts = solution ? solution.texts : [];
  const hits = (question.choices || []).map((text, i) => (texts.includes(text) ? i : -1)).filter((i) => i >= 0);
  const some = Math.floor(Math.random() * (question.choices || [1]).length);
  switch (question.kind) {
    case 'single':
    case 'boolean': {
      const choice = hits.length ? hits[0] : some;
      return [{ choice }, { choice: (choice + 1) % question.choices.length }];
    }
    case 'multiple': {
      const choices = hits.length ? hits : [some];
      return [{ choices }, { choices: [(choices[0] + 1) % question.choices.length].concat(choices.length > 1 ? [] : choices) }];
    }
    case 'number': {
      const value = solution ? solution.value : 42;
      return [{ value }, { value: value + 1 }];
    }
    default: {
      const value = solution ? solution.value : 'guess';
      return [{ value }, { value: `${value} or so` }];
    }
  }
}

// alike compares two answers as sent.
export const alike = (a, b) => JSON.stringify(normal(a)) === JSON.stringify(normal(b));
const normal = (given) => given && (given.choices ? { choices: [...given.choices].sort() } : given);
