import * as api from './api.js';

const DEVICE = 'laststand.device';
const KNOWN = 'laststand.known';
const FRESH_FOR_MS = 60_000;

// Account is who plays on this page: a device secret of its own making, and the
// token that the server gives for it.
export class Account {
  #box;
  #token = null;
  #renewAt = 0;

  // box keeps the secret: localStorage, or sessionStorage for a tab of its own.
  constructor(box) {
    this.#box = box;
  }

  // known says whether the server has met this device, as far as we remember.
  get known() {
    return this.#box.get(KNOWN) === '1';
  }

  // signIn makes or finds the player; a nickname counts only for a new one, and
  // arena is the code of the arena that brings them here. It returns
  // {player_id, nickname}; it throws ApiError.
  async signIn(nickname, arena) {
    const guest = await api.signIn(this.#device(), nickname || undefined, arena);
    this.#box.set(KNOWN, '1');
    this.#token = guest.token;
    this.#renewAt = guest.expires_at - FRESH_FOR_MS;
    return guest;
  }

  // token is one that the server should still take; renew asks for a new one.
  async token(renew = false) {
    if (renew || !this.#token || Date.now() > this.#renewAt) await this.signIn();
    return this.#token;
  }

  async rename(nickname) {
    return api.rename(await this.token(), nickname);
  }

  #device() {
    const kept = this.#box.get(DEVICE);
    if (kept) return kept;
    const made = secret();
    this.#box.set(DEVICE, made);
    return made;
  }
}

function secret() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_');
}
