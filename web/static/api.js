const BASE = '/v1/games/demo';

// ApiError is a refusal over HTTP: problem+json's code and detail, and what
// came with them. Without an answer at all the code is `unreachable`, status 0.
export class ApiError extends Error {
  constructor({ status, code, detail, suggestions = [], retryAfterMs = 0 }) {
    super(detail);
    Object.assign(this, { status, code, suggestions, retryAfterMs });
  }
}

export const signIn = (device, nickname) =>
  call('POST', '/guests', { body: nickname ? { device, nickname } : { device } });

export const rename = (token, nickname) =>
  call('PUT', '/players/me/nickname', { body: { nickname }, token });

export const finishedMatch = (match) => call('GET', `/matches/${encodeURIComponent(match)}`);

export const boards = () => call('GET', '/leaderboards');

// board reads one page of a window; query is {order, limit, cursor?, around?}.
export const board = (window, query) =>
  call('GET', `/leaderboards/${encodeURIComponent(window)}?${new URLSearchParams(query)}`);

async function call(method, path, { body, token } = {}) {
  const headers = { Accept: 'application/json' };
  if (body) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await reach(BASE + path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw refusal(response, answer ?? {});
  if (answer === null) throw new ApiError({ status: response.status, code: 'internal', detail: '' });
  return answer;
}

async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    throw new ApiError({ status: 0, code: 'unreachable', detail: '' });
  }
}

function refusal(response, problem) {
  return new ApiError({
    status: response.status,
    code: problem.code ?? 'internal',
    detail: problem.detail ?? problem.title ?? response.statusText,
    suggestions: problem.suggestions,
    retryAfterMs: 1000 * (Number(response.headers.get('Retry-After')) || 0),
  });
}
