import * as api from './api.js';
import { answered, answering, begin, refused, take, takeDeadline, takeOwn, takeState } from './match.js';
import { current, pending, takesAnswer } from './scene.js';

const RESEND_MS = 1000;
const REPLAY_MS = 1500;

// Contest is the match that the player is in or watches: the store's `match`.
export class Contest {
  #store;
  #request;
  #syncing = false;
  #left = null;

  // request(type, data) asks the server, as Session's does.
  constructor({ store, request }) {
    this.#store = store;
    this.#request = request;
  }

  // resume returns what hello asks the server to send again.
  resume() {
    const { match } = this.#store.get();
    return match && !match.over ? { match: match.id, seq: match.seq } : undefined;
  }

  // welcomed drops requests of an earlier connection.
  welcomed() {
    this.#syncing = false;
  }

  // lead turns to a match that is on; the one that is shown goes on.
  lead(id) {
    if (this.#store.get().match?.id === id) return;
    this.#store.patch({ match: begin(id), queue: null });
    this.#sync();
  }

  // forget leaves the match. Later messages about it are ignored.
  forget() {
    this.#left = this.#store.get().match?.id ?? this.#left;
    this.#store.patch({ match: null });
  }

  // answer gives an answer to the open question: {choice}, {choices} or {value}.
  // The first answer counts, unless the server refused it.
  async answer(given) {
    const { match } = this.#store.get();
    const question = current(match);
    if (!takesAnswer(match.rounds[question])) return;
    this.#store.patch({ match: answering(match, question, given) });
    await this.#submit(match.id, question, given);
  }

  // receive takes a numbered push, `match.state`, `own`, `own.deadline`, `settled` or `match.corrected`.
  receive(message) {
    if (message.type === 'match.state') return this.#state(message.data);
    if (message.type === 'settled') return this.#change(message.data.match, (match) => ({ ...match, settled: message.data }));
    if (message.type === 'match.corrected') return this.#correct(message.data);
    if (message.type === 'own') return this.#change(message.data.match, (match) => takeOwn(match, this.#store.get().player.id, message.data));
    if (message.type === 'own.deadline') return this.#change(message.data.match, (match) => takeDeadline(match, message.data));
    if (message.match) this.#numbered(message);
  }

  // astray takes an error that belongs to no step of the player's.
  astray(error) {
    if (error.code === 'disconnected') return;
    if (error.code !== 'not_in_match') return this.#store.patch({ notice: error });
    const { arena, match } = this.#store.get();
    const waits = arena?.state === 'lobby' && !match?.found; // an arena that has not begun
    this.#store.patch(waits ? { match: null } : { match: null, arena: null, notice: error });
  }

  #numbered(push) {
    const { match } = this.#store.get();
    if (match?.id !== push.match) {
      if (push.match === this.#left || (match && !match.ended)) return;
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
    await this.#request('match.sync', { match: id, seq }).catch((error) => this.astray(error));
    this.#syncing = false;
  }

  // recall reads a match that ended unseen, where its pushes are no longer kept.
  async #recall(id) {
    const { match } = this.#store.get();
    if (match?.id !== id || match.over) return;
    const over = await api.finishedMatch(id).catch(() => null);
    this.#change(id, (now) => ({ ...now, over: now.over ?? over ?? { reason: 'closed', standings: [] } }));
  }

  // correct takes a match that was counted again, and reads its new standings. The pages of a
  // large match do so one after another, about one in a millisecond.
  async #correct(corrected) {
    const { match } = this.#store.get();
    if (match?.id !== corrected.match) return;
    this.#store.patch({ match: { ...match, corrected } });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * (match.found?.players ?? 0)));
    const over = await api.finishedMatch(corrected.match).catch(() => null);
    if (over) this.#change(corrected.match, (now) => ({ ...now, over: { ...now.over, winner: undefined, ...over } }));
  }

  #resend() {
    const { match } = this.#store.get();
    const again = match && pending(match);
    if (again) this.#submit(match.id, again.question, again.given);
  }

  async #submit(id, question, given) {
    try {
      const reply = await this.#request('answer', { match: id, question, ...given });
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
}
