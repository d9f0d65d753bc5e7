import { afterClose } from './closing.js';

const PROTOCOL = 'laststand.v1';
const STABLE_MS = 10_000;
const SILENT_BEATS = 3;
const FIRST_PINGS = 4;
const FIRST_PING_MS = 250;
const SILENT = 4408;
const LOST = { code: 'disconnected', message: '' };

// Session is one player's line to the server: it says hello, keeps the clock,
// notices silence, and comes back after a loss as the contract allows.
//
// Its status, told to onStatus, is {kind}: `idle`, `connecting`, `online` (with
// `welcome`), `retrying` (with `at`, a local instant, and `code`) or `stopped`
// (with `code` and `reason`; only connect() leaves it).
export class Session {
  #options;
  #socket = null;
  #pending = new Map();
  #lastId = 0;
  #attempt = 0;
  #renewed = false;
  #renew = false;
  #drainMs = 0;
  #unanswered = 0;
  #timers = [];

  // options: url; clock; token(renew) returns a Promise of a token; resume() returns {match,
  // seq} or nothing; onStatus(status); onMessage(message) gets pushes, and replies without a
  // request.
  constructor(options) {
    this.#options = options;
  }

  // connect opens the line now, whatever its status; a line that is open is replaced.
  async connect() {
    this.#drop();
    const opening = (this.#socket = {});
    this.#options.onStatus({ kind: 'connecting' });
    try {
      const token = await this.#options.token(this.#renew);
      if (this.#socket === opening) this.#open(token);
    } catch (error) {
      if (this.#socket === opening) this.#refused(error);
    }
  }

  // hangUp closes the line, without a word to onStatus; connect() opens it again.
  hangUp() {
    this.#drop();
  }

  // request resolves with the reply's data and rejects with the error's data, or
  // with code `disconnected` when the line is lost first: ask again once online.
  request(type, data = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return Promise.reject(LOST);
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, type, data }));
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #open(token) {
    const socket = new WebSocket(this.#options.url, PROTOCOL);
    const mine = (handle) => (event) => this.#socket === socket && handle(event);
    this.#socket = socket;
    socket.onopen = mine(() => this.#hello(token));
    socket.onmessage = mine((event) => this.#receive(event.data));
    socket.onclose = mine((event) => this.#closed(event.code, event.reason));
  }

  async #hello(token) {
    const { clock, resume, onStatus } = this.#options;
    const match = resume();
    const sentAt = clock.local();
    try {
      const welcome = await this.request('hello', match ? { token, resume: match } : { token });
      clock.reset();
      clock.sample(sentAt, welcome.server_at);
      this.#renewed = this.#renew = false;
      this.#keepAlive(welcome.ping_ms);
      onStatus({ kind: 'online', welcome });
    } catch {
      // An error for hello is followed by the close that says what to do.
    }
  }

  #receive(text) {
    this.#unanswered = 0;
    const message = JSON.parse(text);
    if (message.type === 'draining') this.#drainMs = message.data.reconnect_after_ms;
    const asked = this.#pending.get(message.re);
    this.#pending.delete(message.re);
    if (!asked || message.type === 'match.state') this.#options.onMessage(message);
    if (!asked) return;
    if (message.type === 'error') asked.reject(message.data);
    else asked.resolve(message.data);
  }

  #keepAlive(everyMs) {
    const ping = () => this.#ping();
    for (let i = 1; i <= FIRST_PINGS; i++) this.#timers.push(setTimeout(ping, i * FIRST_PING_MS));
    this.#timers.push(setInterval(ping, everyMs));
    this.#timers.push(setTimeout(() => (this.#attempt = 0), STABLE_MS));
  }

  // Silence is counted in pings without any answer, not in time: a hidden tab's
  // timers may rest for a minute while the line is well.
  async #ping() {
    if (this.#unanswered >= SILENT_BEATS) return this.#closed(SILENT, '');
    this.#unanswered++;
    const { clock } = this.#options;
    const at = clock.local();
    const pong = await this.request('ping', { at }).catch(() => null);
    if (pong) clock.sample(at, pong.server_at);
  }

  #closed(code, reason) {
    this.#drop();
    const next = afterClose({ code, reason, attempt: this.#attempt, renewed: this.#renewed });
    if (next.stop) return this.#options.onStatus({ kind: 'stopped', code, reason });
    if (next.renew) this.#renew = this.#renewed = true;
    this.#retry(next.wait + this.#drainMs, code);
  }

  #refused(error) {
    this.#drop();
    const { status, code, message, retry_after_ms } = error;
    const lasting = status >= 400 && status < 500 && status !== 429;
    if (lasting) return this.#options.onStatus({ kind: 'stopped', code, reason: message });
    const next = afterClose({ code: 1006, attempt: this.#attempt });
    this.#retry(next.wait + (retry_after_ms ?? 0), code);
  }

  #retry(wait, code) {
    this.#attempt++;
    this.#drainMs = 0;
    this.#timers.push(setTimeout(() => this.connect(), wait));
    this.#options.onStatus({ kind: 'retrying', code, at: this.#options.clock.local() + wait });
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#unanswered = 0;
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    for (const { reject } of this.#pending.values()) reject(LOST);
    this.#pending.clear();
    socket?.close?.();
  }
}
