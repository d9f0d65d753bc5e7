// The page's address:
//   /g/GAME              the page of a game; / is the page of the only game
//   /g/GAME/join/CODE    straight to the arena with that code
//   ?guest=new           a player that belongs to this tab alone
//   ?watch=1             join the arena as a spectator

// read takes a location apart: {game, ownTab, arena, watch}. only is the game that
// the server named in the page, for the address /. arena is a code or null.
export function read({ pathname, search }, only) {
  const [, game, code] = /^\/g\/([^/]+)(?:\/join\/([0-9]{6}))?$/.exec(pathname) ?? [];
  const query = new URLSearchParams(search);
  return {
    game: game ? decodeURIComponent(game) : only,
    ownTab: query.get('guest') === 'new',
    arena: code ?? null,
    watch: query.has('watch'),
  };
}

// showing is the address of the place that the page shows: an arena, by its code,
// or the home page of the game.
export function showing(href, game, code) {
  const url = new URL(href);
  url.searchParams.delete('watch');
  if (code) url.pathname = join(game, code);
  else if (url.pathname !== '/') url.pathname = home(game);
  return url.href;
}

// joinURL leads to an arena; watchURL opens it for a spectator with a tab of its own.
export const joinURL = (href, game, code) => new URL(join(game, code), href).href;
export const watchURL = (href, game, code) => new URL(`${join(game, code)}?watch=1&guest=new`, href).href;

const home = (game) => `/g/${encodeURIComponent(game)}`;
const join = (game, code) => `${home(game)}/join/${code}`;
