// Duel is how a player finds an opponent, and gives a duel up: the store's
// `queue` and `questionFilter`.
export class Duel {
  #store;
  #login;
  #contest;
  #request;

  constructor({ store, login, contest, request }) {
    this.#store = store;
    this.#login = login;
    this.#contest = contest;
    this.#request = request;
  }

  // play asks for an opponent: questionFilter as in duel.join. Errors become the notice.
  async play(nickname, questionFilter) {
    await this.#login.trying(async () => {
      await this.#login.enter(nickname);
      await this.#join(questionFilter);
    });
  }

  async cancel() {
    await this.#login.trying(() => this.#request('duel.leave'));
    this.#store.patch({ queue: null });
  }

  // leave forfeits the duel that is on.
  async leave() {
    const { match } = this.#store.get();
    await this.#login.trying(() => this.#request('match.leave', { match: match.id }));
  }

  // rejoin queues again on a new connection if the player was waiting.
  rejoin() {
    const { queue } = this.#store.get();
    if (queue) this.#login.trying(() => this.#join(queue.questionFilter));
  }

  async #join(questionFilter) {
    const since = this.#store.get().queue?.since ?? Date.now();
    this.#store.patch({ queue: { questionFilter, since }, questionFilter, match: null });
    try {
      await this.#request('duel.join', questionFilter);
    } catch (error) {
      if (error.code === 'already_queued' || error.code === 'disconnected') return;
      this.#store.patch({ queue: null });
      if (error.code !== 'already_playing') throw error;
      this.#contest.lead(error.match);
    }
  }
}
