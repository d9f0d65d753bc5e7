// A player's connection: hello, requests with one reply each, and pushes.

import { WebSocket } from 'k6/websockets';
import { socket } from './env.js';
import { frames } from './faults.js';
import { guest, random } from './http.js';
import { holds, lost, refused } from './checks.js';

export class Player {
  // The parameter has player_id and token, as in the server's reply to a new guest.
  constructor(who) {
    this.id = who.player_id;
    this.token = who.token;
    this.pending = new Map(); // requests by id
    this.last = 0;
    this.settled = { score: 0, matches: 0 }; // totals over all matches that count
    this.ws = null;
    this.free();
  }

  // free removes all listeners.
  free() {
    this.onpush = () => {};
    this.onlost = () => {};
  }

  // connect says hello. It returns the welcome, or null if there was none.
  connect(resume) {
    return new Promise((resolve) => {
      const ws = new WebSocket(socket, 'laststand.v1', { tags: { name: 'ws' } });
      this.ws = ws;
      ws.onopen = () => {
        this.request('hello', resume ? { token: this.token, resume } : { token: this.token }).then(resolve);
      };
      ws.onmessage = (event) => {
        if (this.ws === ws) for (const raw of frames(event.data)) this.take(raw);
      };
      ws.onclose = (event) => {
        if (this.ws !== ws) return;
        this.drop();
        this.ended(event);
        resolve(null);
      };
      ws.onerror = () => {}; // a close follows
    });
  }

  // request returns the reply of any type, or null if the connection ends first.
  request(type, data) {
    if (!this.ws || this.ws.readyState !== 1) return Promise.resolve(null);
    const id = ++this.last;
    this.ws.send(JSON.stringify({ id, type, data }));
    return new Promise((resolve) => this.pending.set(id, resolve));
  }

  take(raw) {
    const frame = JSON.parse(raw);
    if (frame.re === undefined || frame.type === 'match.state') {
      if (frame.type === 'match.state') this.reply(frame, true);
      this.onpush(frame, raw);
      return;
    }
    if (frame.type === 'error') refused.add(1, { code: frame.data.code });
    this.reply(frame, false);
  }

  // reply resolves the request with the reply. The state that follows a hello has the id of
  // the hello.
  reply(frame, state) {
    const resolve = this.pending.get(frame.re);
    this.pending.delete(frame.re);
    if (!state) holds('reply', resolve !== undefined, () => `${this.id} did not ask for ${JSON.stringify(frame)}`);
    if (resolve) resolve(frame);
  }

  // close closes the connection from our side, as if it were lost.
  close() {
    const ws = this.ws;
    this.drop();
    if (ws) ws.close();
  }

  drop() {
    this.ws = null;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const resolve of waiting) resolve(null);
  }

  // ended handles a close that this client did not start.
  ended(event) {
    const code = event.code || 1006;
    lost.add(1, { code: `${code}` });
    let after = 1000;
    if (code === 1013) {
      const retry = /"retry_after_ms":\s*(\d+)/.exec(event.reason);
      if (holds('refusal', retry !== null, () => `closed 1013 ${event.reason}`)) after = Number(retry[1]);
    }
    this.onlost(code, after);
  }
}

// newPlayer returns a guest that has not connected yet, or null if the server refused.
export function newPlayer(arena) {
  const who = guest(arena);
  return who && new Player(who);
}

export const newName = (kind) => `k6_${kind}_${random(10)}`;
