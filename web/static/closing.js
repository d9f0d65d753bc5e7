const BASE_MS = 500;
const CAP_MS = 15_000;
const TOO_FAST_MS = 60_000;

const UNAUTHORIZED = 4401;
const SILENT = 4408;
const TOO_FAST = 4429;
const SLOW_READER = 4450;
const TOO_LARGE = 1009;
const OVERLOADED = 1013;

export const REPLACED = 4409;

// afterClose decides what follows the close of a socket, by the table of the contract. {wait}
// means: reconnect after that many ms. {wait, renew} means: get a new token first. {stop}
// means: do not reconnect. attempt counts the failures in a row from 0; random is in [0, 1).
export function afterClose({ code, reason, attempt, renewed }, random = Math.random) {
  if (code === OVERLOADED) return { wait: retryAfter(reason) + random() * 1000 };
  if (code === TOO_FAST) return { wait: TOO_FAST_MS + random() * 5000 };
  if (code === UNAUTHORIZED && !renewed) return { wait: backoff(attempt, random), renew: true };
  if (code === SILENT || code === SLOW_READER) return { wait: backoff(attempt, random) };
  if (code === TOO_LARGE || (code >= 4000 && code < 4500)) return { stop: true };
  return { wait: backoff(attempt, random) };
}

// canRetryNow reports whether a player may skip the wait. It is false if the server asked for
// the wait.
export const canRetryNow = (code) => code !== TOO_FAST && code !== OVERLOADED;

// backoff is exponential with full jitter: a random delay up to a doubling bound, so that
// clients that lost a node do not reconnect all at once.
export function backoff(attempt, random = Math.random) {
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** attempt);
}

function retryAfter(reason) {
  try {
    const ms = JSON.parse(reason).retry_after_ms;
    return Number.isFinite(ms) && ms > 0 ? ms : BASE_MS;
  } catch {
    return BASE_MS;
  }
}
