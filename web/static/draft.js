// A draft is an arena that its host is still writing: what the fields hold,
// texts as typed. All functions are pure.
//
//   {name, mode, count, seconds, reading, pace, teams: [name…],
//    items: [{id, text, seconds, weight}…],            picked questions; null for random ones
//    preset, points, penalty, streak, partial, late}   the last line is for a race

export const bounds = {
  count: { min: 1, max: 50 }, seconds: { min: 3, max: 120 }, items: { min: 3, max: 120 }, reading: { min: 0, max: 60 },
  points: { min: 1, max: 1000 }, penalty: { min: 0, max: 1000 }, streak: { min: 0, max: 200 },
  teams: 20, name: 60,
};

export const blank = {
  name: '', mode: 'race', count: '10', seconds: '15', reading: '0', pace: 'auto', teams: [], items: null,
  preset: 'speed', points: '100', penalty: '0', streak: '0', partial: false, late: false,
};

// newArena is the body that makes the arena, with the filter of its random questions.
// Teams without a name are left out.
export function newArena({ name, mode, count, seconds, reading, pace, teams, items, ...race }, questionFilter) {
  const named = teams.map((team) => team.trim()).filter(Boolean);
  const sides = named.length ? { teams: named.map((team, i) => ({ id: `t${i + 1}`, name: team })) } : {};
  return {
    mode, pace, name: name.trim(), ...sides,
    questions: items ? { items: items.map((item) => newItem(item, mode)) } : { count: Number(count), ...questionFilter },
    time_limit_ms: 1000 * Number(seconds), reading_ms: 1000 * Number(reading),
    ...(mode === 'race' && rules(race)),
  };
}

function newItem({ id, seconds, weight }, mode) {
  return { id, ...(seconds.trim() && { time_limit_ms: 1000 * Number(seconds) }), ...(mode === 'race' && weight !== '1' && { points: Number(weight) }) };
}

function rules({ preset, points, penalty, streak, partial, late }) {
  return {
    scoring: { preset, points: Number(points), penalty: Number(penalty), streak: Number(streak), partial },
    late_join: late ? 'zero' : 'no',
  };
}

const KEPT_DRAFTS = 20;

// keepDraft adds the draft of an arena to a kept text of drafts; the oldest drop out.
export function keepDraft(text, id, draft) {
  const others = Object.entries(parsed(text)).filter(([other]) => other !== id);
  return JSON.stringify(Object.fromEntries([...others, [id, draft]].slice(-KEPT_DRAFTS)));
}

// draftOf is the draft of an arena in a kept text, or undefined.
export const draftOf = (text, id) => parsed(text)[id];

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

// fault is the first field that cannot be sent as it is; null for none. Of `teams`,
// one alone is a fault, and so are two of the same name.
export function fault(draft) {
  const named = draft.teams.map((team) => team.trim()).filter(Boolean);
  if (!draft.name.trim()) return 'name';
  if (named.length === 1 || new Set(named).size < named.length) return 'teams';
  if (draft.items?.some(({ seconds }) => !isLimit(seconds))) return 'items';
  const numbers = [...(draft.items ? [] : ['count']), 'seconds', ...(draft.mode === 'race' ? ['points', 'penalty', 'streak'] : []), 'reading'];
  return numbers.find((field) => !within(draft[field], bounds[field])) ?? null;
}

// The server begins the text of a refusal with the path of the value that it refuses.
const fields = {
  'questions.items': 'items', 'questions.ids': 'picked',
  'name': 'name', 'teams': 'teams', 'questions.count': 'count', 'time_limit_ms': 'seconds', 'reading_ms': 'reading',
  'scoring.points': 'points', 'scoring.penalty': 'penalty', 'scoring.streak': 'streak',
};

// refusedField is the field of a draft that an error of the server is about, or null.
export function refusedField(error) {
  if (error?.code !== 'bad_request') return null;
  const [path] = error.message.split(/\[| is | has | contains /, 1);
  return fields[path] ?? null;
}

// isLimit says whether a picked question can have this time; an empty one means that of the arena.
export const isLimit = (seconds) => seconds.trim() === '' || within(seconds, bounds.items);

function within(text, { min, max }) {
  const value = Number(text);
  return text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max;
}
