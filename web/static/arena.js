// An arena as this page knows it. All functions are pure.
//
//   {code, id, name, mode, as, team, teams: [{id, name, players}], players,
//    state, host, pace, lateJoin, late, locked, extra: [{player, nickname, percent}], removed: [id…], ended}
//
// id is null until the server has admitted the player; code is null if it is unknown.
// as is `player`, `spectator` or `host`. host is true if this page's player created
// the arena; only its host knows lateJoin, whether players may join after the start. late is
// true for a player who did. extra lists the players with extra time; only the host learns of them. removed lists the players that the host kicked. ended is {type: 'kicked' | 'closed', reason}.

const CODE_DIGITS = 6;

// asCode is the code in a text that was typed, or null.
export function asCode(text) {
  const digits = text.normalize('NFKC').replace(/[\s-]/g, '');
  return digits.length === CODE_DIGITS && /^\d+$/.test(digits) ? digits : null;
}

// spaced is a code as people read it out.
export const spaced = (code) => `${code.slice(0, 3)} ${code.slice(3)}`;

const unknown = {
  code: null, id: null, name: '', mode: null, as: 'player', team: null, teams: [], players: 0, state: 'lobby',
  host: false, pace: 'auto', lateJoin: false, late: false, locked: false, extra: [], removed: [], ended: null,
};

// made is an arena as its host has it from making it.
export const made = ({ code }, { pace, late: lateJoin }) => ({ ...unknown, code, pace, lateJoin, host: true, as: 'host' });

// called is an arena of which only the code is known, unnamed one of which only
// the id is.
export const called = (code) => ({ ...unknown, code });
export const unnamed = (id) => ({ ...unknown, id });

// seated takes the reply to arena.join.
export const seated = (arena, { arena_id, name, mode, as, team = null, teams, players, state, extra = [] }) =>
  ({ ...arena, id: arena_id, name, mode, as, team, teams, players, state, extra });

// applyPush takes a push `arena.lobby`, `arena.kicked` or `arena.closed`; one of
// another arena changes nothing.
export function applyPush(arena, { type, data }) {
  if (data.arena_id !== arena.id) return arena;
  if (type === 'arena.lobby') return { ...arena, teams: data.teams, players: data.players };
  return { ...arena, ended: { type: type.slice('arena.'.length), reason: data.reason } };
}

// kept is the text by which an arena is found again after the page was left,
// '' for none.
export function kept(arena) {
  if (!arena?.code || arena.ended) return '';
  const { code, as, team, host, pace, lateJoin, locked } = arena;
  return JSON.stringify({ code, as, team, host, pace, lateJoin, locked });
}

// recalled is what of a kept text still has a meaning, or null.
export function recalled(text) {
  try {
    const arena = JSON.parse(text);
    return asCode(arena.code) && arena.as ? { ...unknown, ...arena } : null;
  } catch {
    return null;
  }
}

// arenaOf is the arena that the page is in: also one that only a match names.
export const arenaOf = ({ arena, match }) => arena ?? (match?.found?.arena_id ? unnamed(match.found.arena_id) : null);
