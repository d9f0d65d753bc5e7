// A draft is an arena that its host is still writing: what the fields hold,
// texts as typed. All functions are pure.
//
//   {name, mode, count, seconds, pace, teams: [name…]}

export const bounds = { count: { min: 1, max: 50 }, seconds: { min: 3, max: 120 }, teams: 20, name: 60 };

export const blank = { name: '', mode: 'buzzer', count: '10', seconds: '15', pace: 'auto', teams: [] };

// newArena is the body that makes the arena, with the filter of its questions.
// Teams without a name are left out.
export function newArena({ name, mode, count, seconds, pace, teams }, questionFilter) {
  const named = teams.map((team) => team.trim()).filter(Boolean);
  const sides = named.length ? { teams: named.map((team, i) => ({ id: `t${i + 1}`, name: team })) } : {};
  return {
    mode, pace, name: name.trim(), ...sides,
    questions: { count: Number(count), ...questionFilter },
    time_limit_ms: 1000 * Number(seconds),
  };
}

// fault is the first field that cannot be sent as it is: `name`, `count`,
// `seconds` or `teams` (one alone, or two of the same name); null for none.
export function fault({ name, count, seconds, teams }) {
  const named = teams.map((team) => team.trim()).filter(Boolean);
  if (!name.trim()) return 'name';
  if (!within(count, bounds.count)) return 'count';
  if (!within(seconds, bounds.seconds)) return 'seconds';
  return named.length === 1 || new Set(named).size < named.length ? 'teams' : null;
}

function within(text, { min, max }) {
  const value = Number(text);
  return Number.isInteger(value) && value >= min && value <= max;
}
