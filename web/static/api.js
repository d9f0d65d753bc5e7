let base = null;

// callGame says which game all later calls are for.
export const callGame = (game) => {
  base = `/v1/games/${encodeURIComponent(game)}`;
};

// ApiError is a refusal over HTTP, with the fields of an error on the websocket and more:
// {status, code, reason?, message, suggestions, retry_after_ms}. Without an answer at all the
// code is `unreachable`, and the status 0.
export class ApiError extends Error {
  constructor({ status, code, reason, detail, suggestions = [], retry_after_ms = 0 }) {
    super(detail);
    Object.assign(this, { status, code, reason, suggestions, retry_after_ms });
  }
}

// signIn makes or finds a guest; nickname and arena (a code) may be undefined.
export const signIn = (device, nickname, arena) =>
  call('POST', '/guests', { body: { device, nickname, arena } });

export const rename = (token, nickname) =>
  call('PUT', '/players/me/nickname', { body: { nickname }, token });

// finishedMatch reads a page of a result; query is {limit?, cursor?}. The browser asks whether
// its copy is still true: a correction changes the result.
export const finishedMatch = (match, query = {}) =>
  call('GET', `/matches/${encodeURIComponent(match)}?${new URLSearchParams(query)}`, { cache: 'no-cache' });

export const arena = (code) => call('GET', `/arenas/${encodeURIComponent(code)}`);

export const makeArena = (token, arena) => call('POST', '/arenas', { body: arena, token });

// ownAnswers reads the questions of a match with the answers of the token's player.
export const ownAnswers = (token, match) => call('GET', `/matches/${encodeURIComponent(match)}/answers`, { token });

// hostedArenas reads a page of the arenas that the token's player made; query is {cursor?}.
export const hostedArenas = (token, query = {}) => call('GET', `/players/me/arenas?${new URLSearchParams(query)}`, { token });

// report reads the report of an arena with a page of its players; query is {cursor?}.
export const report = (token, arena, query = {}) => call('GET', `${reportOf(arena)}?${new URLSearchParams({ limit: 100, ...query })}`, { token });

// makeVoid makes a question of a host's arena void.
export const makeVoid = (token, arena, question) => call('POST', `/arenas/${encodeURIComponent(arena)}/voids`, { body: { question }, token });

// reportFile reads a whole report as a file, csv or xlsx.
export async function reportFile(token, arena, format) {
  const response = await reach(`${base}${reportOf(arena)}?format=${format}`, { headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok) throw refusal(response, (await response.json().catch(() => null)) ?? {});
  return response.blob().catch(() => { throw unreachable(); });
}

const reportOf = (arena) => `/arenas/${encodeURIComponent(arena)}/report`;

export const boards = () => call('GET', '/leaderboards');

// board reads one page of a window; query is {order, kind, limit, date?, cursor?, around?}.
export const board = (window, query) =>
  call('GET', `/leaderboards/${encodeURIComponent(window)}?${new URLSearchParams(query)}`);

async function call(method, path, { body, token, cache } = {}) {
  const headers = { Accept: 'application/json' };
  if (body) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await reach(base + path, { method, headers, cache, body: body && JSON.stringify(body) });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw refusal(response, answer ?? {});
  if (answer === null) throw new ApiError({ status: response.status, code: 'internal', detail: '' });
  return answer;
}

async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    throw unreachable();
  }
}

const unreachable = () => new ApiError({ status: 0, code: 'unreachable', detail: '' });

function refusal(response, problem) {
  return new ApiError({
    status: response.status,
    code: problem.code ?? 'internal',
    reason: problem.reason,
    detail: problem.detail ?? problem.title ?? response.statusText,
    suggestions: problem.suggestions,
    retry_after_ms: 1000 * (Number(response.headers.get('Retry-After')) || 0),
  });
}
