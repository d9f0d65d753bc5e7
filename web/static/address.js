// What the page's address says, {ownTab, arena, watch}:
//   ?guest=new      a player of this tab's own
//   ?arena=123456   straight to that arena
//   &watch=1        and look on
export function read(search) {
  const query = new URLSearchParams(search);
  return { ownTab: query.get('guest') === 'new', arena: query.get('arena'), watch: query.has('watch') };
}

// showing is the address that says where the page is: at an arena's gate, in it,
// or, without a code, at home.
export function showing(href, code) {
  const url = new URL(href);
  url.searchParams.delete('watch');
  url.searchParams.delete('arena');
  if (code) url.searchParams.set('arena', code);
  return url.href;
}

// joinURL leads to an arena; watchURL has a tab of its own look on.
export const joinURL = (href, code) => new URL(`/?arena=${code}`, href).href;
export const watchURL = (href, code) => new URL(`/?arena=${code}&watch=1&guest=new`, href).href;
