// The environment variables of all scripts.

const env = (name, otherwise) => (__ENV[name] === undefined || __ENV[name] === '' ? otherwise : __ENV[name]);

// number reads a number that must not be below the least.
function number(name, otherwise, least) {
  const value = Number(env(name, otherwise));
  if (!(value >= least)) throw new Error(`${name}: ${__ENV[name]} is no number from ${least} on`);
  return value;
}

export const url = env('URL', 'http://127.0.0.1:8080').replace(/\/+$/, '');
export const ops = env('OPS', '').replace(/\/+$/, ''); // '': skip the checks that need metrics
export const game = env('GAME', 'demo');
export const games = `${url}/v1/games/${encodeURIComponent(game)}`;
export const socket = `${url.replace(/^http/, 'ws')}/v1/ws`;

export const vus = number('VUS', 10, 1);
export const duration = env('DURATION', '30s');
export const players = number('PLAYERS', 0, 0); // per VU or per arena; 0: the script's own number
export const think = number('THINK', 500, 0); // ms within which a player answers
export const resumes = number('RESUMES', 0.2, 0); // share of matches in which the connection drops once
export const twice = number('TWICE', 0.3, 0); // share of answers that a player sends again, and changed
export const p99 = number('P99', 1000, 0); // ms from answer to answered; 0: no limit
export const pushTimeout = number('PUSH_TIMEOUT', 60, 1) * 1000; // for the next push, seconds to ms
export const seconds = (text) => {
  const units = { ms: 0.001, s: 1, m: 60, h: 3600 };
  let sum = 0;
  for (const [, n, unit] of String(text).matchAll(/([\d.]+)(ms|s|m|h)/g)) sum += Number(n) * units[unit];
  return sum;
};

// The key that signs tokens of the game, as in the server's configuration.
const keyFile = env('KEY_FILE', '');
export const key = keyFile ? open(keyFile).replace(/\r?\n$/, '') : '';
export const keyID = env('KEY_ID', 'k1');
