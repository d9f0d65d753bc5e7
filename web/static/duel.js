// Duel is how a player finds an opponent, and gives a duel up: the store's
// `queue` and `wishes`.
export class Duel {
  #store;
  #entrance;
  #contest;
  #request;

  constructor({ store, entrance, contest, request }) {
    this.#store = store;
    this.#entrance = entrance;
    this.#contest = contest;
    this.#request = request;
  }

  // play asks for an opponent: wishes as in duel.join. Errors become the notice.
  async play(nickname, wishes) {
    await this.#entrance.trying(async () => {
      await this.#entrance.enter(nickname);
      await this.#join(wishes);
    });
  }

  async cancel() {
    await this.#entrance.trying(() => this.#request('duel.leave'));
    this.#store.patch({ queue: null });
  }

  // leave forfeits the duel that is on.
  async leave() {
    const { match } = this.#store.get();
    await this.#entrance.trying(() => this.#request('match.leave', { match: match.id }));
  }

  // goOn asks again on a new line, where the player was waiting.
  goOn() {
    const { queue } = this.#store.get();
    if (queue) this.#entrance.trying(() => this.#join(queue.wishes));
  }

  async #join(wishes) {
    const since = this.#store.get().queue?.since ?? Date.now();
    this.#store.patch({ queue: { wishes, since }, wishes, match: null });
    try {
      await this.#request('duel.join', wishes);
    } catch (error) {
      if (error.code === 'already_queued' || error.code === 'disconnected') return;
      this.#store.patch({ queue: null });
      if (error.code !== 'already_playing') throw error;
      this.#contest.lead(error.match);
    }
  }
}
