import * as api from './api.js';
import { answered, answering, begin, refused, take, takeState } from './match.js';
import { current, pending } from './scene.js';

const RESEND_MS = 1000;
const REPLAY_MS = 1500;

// Duel is what the player does and what the server tells about it: it turns
// both into the store's `player`, `queue`, `match` and `notice`.
export class Duel {
  #store;
  #account;
  #session;
  #syncing = false;
  #waiting = [];

  constructor({ store, account }) {
    this.#store = store;
    this.#account = account;
  }

  // attach gives the session, whose options name this duel's own methods.
  attach(session) {
    this.#session = session;
  }

  // enter signs in (nickname, empty: as known or as given) and goes online.
  async enter(nickname = '') {
    await this.#named(nickname);
    if (this.#store.get().session.kind === 'online') return;
    const online = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (this.#store.get().session.kind !== 'connecting') this.#session.connect();
    await online;
  }

  // play asks for an opponent: wishes as in duel.join. Errors become the notice.
  async play(nickname, wishes) {
    await this.#trying(async () => {
      await this.enter(nickname);
      await this.#join(wishes);
    });
  }

  async rename(nickname) {
    await this.#trying(() => this.#named(nickname));
  }

  async cancel() {
    await this.#trying(() => this.#session.request('duel.leave'));
    this.#store.patch({ queue: null });
  }

  // answer gives an answer to the open question: {choice}, {choices} or {value}.
  // The first one counts, but for one that was refused.
  async answer(given) {
    const { match } = this.#store.get();
    const question = current(match);
    const { mine } = match.rounds[question];
    if (mine && mine.state !== 'refused') return;
    this.#store.patch({ match: answering(match, question, given) });
    await this.#submit(match.id, question, given);
  }

  // leave forfeits the match that is on; home only turns away from one that is over.
  async leave() {
    const { match } = this.#store.get();
    await this.#trying(() => this.#session.request('match.leave', { match: match.id }));
  }

  home() {
    this.#store.patch({ match: null, notice: null });
  }

  // resume is what hello asks to be told again.
  resume() {
    const { match } = this.#store.get();
    return match && !match.over ? { match: match.id, seq: match.seq } : undefined;
  }

  // connection takes the session's status; online or stopped, those who wait to enter hear of it.
  connection(status) {
    this.#store.patch({ session: status });
    if (status.kind === 'online') this.#welcomed(status.welcome);
    if (status.kind !== 'stopped') return;
    for (const { reject } of this.#waiting.splice(0)) reject({ code: 'disconnected' });
  }

  // receive takes a push, a match.state, or an error that belongs to no request.
  receive(message) {
    if (message.type === 'match.state') return this.#state(message.data);
    if (message.type === 'settled') return this.#change(message.data.match, (match) => ({ ...match, settled: message.data }));
    if (message.type === 'draining') return this.#store.patch({ notice: { code: 'draining' } });
    if (message.type === 'error') return this.#astray(message.data);
    if (message.match) this.#numbered(message);
  }

  // welcomed goes on where the last connection, or the last page, left off.
  #welcomed({ player_id, nickname, playing }) {
    const resumed = this.resume();
    this.#syncing = false;
    const { notice } = this.#store.get();
    this.#store.patch({ player: { id: player_id, nickname }, notice: notice?.code === 'draining' ? null : notice });
    for (const { resolve } of this.#waiting.splice(0)) resolve();
    if (playing && playing.match !== resumed?.match) this.#lead(playing.match);
    else if (!playing && this.#store.get().queue) this.#trying(() => this.#join(this.#store.get().queue.wishes));
  }

  async #trying(step) {
    this.#store.patch({ notice: null, busy: true });
    try {
      await step();
    } catch (error) {
      if (error.code !== 'disconnected') this.#store.patch({ notice: error });
    } finally {
      this.#store.patch({ busy: false });
    }
  }

  async #named(nickname) {
    const { player } = this.#store.get();
    if (!player) {
      const guest = await this.#account.signIn(nickname);
      this.#store.patch({ player: { id: guest.player_id, nickname: guest.nickname } });
      if (!nickname || nickname === guest.nickname) return;
    }
    if (nickname && nickname !== this.#store.get().player.nickname) await this.#rename(nickname);
  }

  async #rename(nickname) {
    const claimed = await this.#account.rename(nickname);
    this.#store.patch({ player: { ...this.#store.get().player, nickname: claimed.nickname } });
  }

  async #join(wishes) {
    const since = this.#store.get().queue?.since ?? Date.now();
    this.#store.patch({ queue: { wishes, since }, wishes, match: null });
    try {
      await this.#session.request('duel.join', wishes);
    } catch (error) {
      if (error.code === 'already_queued' || error.code === 'disconnected') return;
      this.#store.patch({ queue: null });
      if (error.code !== 'already_playing') throw error;
      this.#lead(error.match);
    }
  }

  #lead(match) {
    this.#store.patch({ match: begin(match), queue: null });
    this.#sync();
  }

  #numbered(push) {
    const { match } = this.#store.get();
    if (match?.id !== push.match) {
      if (match && !match.ended) return;
      this.#store.patch({ match: begin(push.match), queue: null, notice: null });
    }
    const taken = take(this.#store.get().match, push);
    this.#store.patch({ match: taken.match });
    if (taken.gap) this.#sync();
  }

  #state(state) {
    this.#syncing = false;
    const { match } = this.#store.get();
    if (!match) return;
    this.#store.patch({ match: takeState(match, state) });
    if (state.phase === 'over') setTimeout(() => this.#recall(match.id), REPLAY_MS);
    this.#resend();
  }

  async #sync() {
    if (this.#syncing) return;
    this.#syncing = true;
    const { id, seq } = this.#store.get().match;
    await this.#session.request('match.sync', { match: id, seq }).catch((error) => this.#astray(error));
    this.#syncing = false;
  }

  // recall reads a match that ended unseen, where its pushes are no longer kept.
  async #recall(id) {
    const { match } = this.#store.get();
    if (match?.id !== id || match.over) return;
    const over = await api.finishedMatch(id).catch(() => null);
    this.#change(id, (now) => ({ ...now, over: now.over ?? over ?? { reason: 'closed', standings: [] } }));
  }

  #resend() {
    const { match } = this.#store.get();
    const again = match && pending(match);
    if (again) this.#submit(match.id, again.question, again.given);
  }

  async #submit(id, question, given) {
    try {
      const reply = await this.#session.request('answer', { match: id, question, ...given });
      this.#change(id, (match) => answered(match, reply));
    } catch (error) {
      if (error.code === 'disconnected') return; // sent again with the next match.state
      if (error.code === 'rate_limited') return void setTimeout(() => this.#resend(), error.retry_after_ms ?? RESEND_MS);
      this.#change(id, (match) => refused(match, question, error));
    }
  }

  #change(id, change) {
    const { match } = this.#store.get();
    if (match?.id === id) this.#store.patch({ match: change(match) });
  }

  #astray(error) {
    if (error.code === 'disconnected') return;
    const gone = error.code === 'not_in_match';
    this.#store.patch(gone ? { match: null, notice: error } : { notice: error });
  }
}
