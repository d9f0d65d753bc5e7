// HTTP calls. A temporary refusal (429, 503) must say when to retry.

import http from 'k6/http';
import crypto from 'k6/crypto';
import encoding from 'k6/encoding';
import { game, games, key, keyID } from './env.js';
import { holds, refused } from './checks.js';
import * as faults from './faults.js';

const json = { 'Content-Type': 'application/json' };
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function random(length) {
  let text = '';
  while (text.length < length) text += letters[Math.floor(Math.random() * letters.length)];
  return text;
}

// read returns the object of the response, or null if the server refused.
function read(response, name) {
  const status = faults.status(name, response.status);
  if (status >= 200 && status < 300) return JSON.parse(faults.body(name, response.body));
  let code = `${status}`;
  try {
    code = response.json('code') || code;
  } catch (_) {
    // no problem document: use the status
  }
  refused.add(1, { code });
  if (status === 429 || status === 503) {
    holds('refusal', /^\d+$/.test(response.headers['Retry-After'] || ''), () => `${name}: ${status} without Retry-After`);
  }
  return null;
}

const asked = (name, token) => ({
  headers: token ? { ...json, Authorization: `Bearer ${token}` } : json,
  tags: { name },
  timeout: '30s',
});

export function post(path, body, token) {
  const name = `POST ${path}`;
  return read(http.post(games + path, JSON.stringify(body), asked(name, token)), name);
}

// get blocks the VU; fetch lets the VU's other players continue.
export const get = (path, name) => read(http.get(games + path, asked(name)), name);
export const fetch = async (path, name) => read(await http.asyncRequest('GET', games + path, null, asked(name)), name);

export const guest = (arena) => post('/guests', arena ? { device: random(32), arena } : { device: random(32) });

// token mints a token of the game, as an operator's login service does. It returns null
// without the key.
export function token(role, sub) {
  if (!key) return null;
  const now = Math.floor(Date.now() / 1000);
  const part = (object) => encoding.b64encode(JSON.stringify(object), 'rawurl');
  const signed = `${part({ alg: 'HS256', typ: 'JWT', kid: keyID })}.${part({ sub, game, role, iat: now - 1, exp: now + 86400 })}`;
  return `${signed}.${crypto.hmac('sha256', key, signed, 'base64rawurl')}`;
}
