// MessageRouter passes each message of the connection to the part that handles it. After a
// reconnect it leads the player back to the earlier screen.
export class MessageRouter {
  #store;
  #login;
  #contest;
  #duel;
  #arenas;
  #boards;

  constructor({ store, login, contest, duel, arenas, boards }) {
    this.#store = store;
    this.#login = login;
    this.#contest = contest;
    this.#duel = duel;
    this.#arenas = arenas;
    this.#boards = boards;
  }

  // connection handles a change of the session's status.
  connection(status) {
    this.#store.patch({ session: status });
    if (status.kind === 'online') this.#welcomed(status.welcome);
    if (status.kind === 'stopped') this.#login.stopped();
  }

  // receive handles a push, a match.state, or an error without a request.
  receive(message) {
    if (message.type === 'draining') return this.#store.patch({ notice: { code: 'draining' } });
    if (message.type === 'error') return this.#contest.astray(message.data);
    if (message.type === 'board') return this.#boards.receive(message);
    if (message.type.startsWith('arena.')) return this.#arenas.receive(message);
    this.#contest.receive(message);
  }

  // welcomed continues after a reconnect or a reload of the page.
  #welcomed(welcome) {
    const { playing } = welcome;
    const resumed = this.#contest.resume();
    const { arena } = this.#store.get();
    this.#contest.welcomed();
    this.#login.welcomed(welcome);
    if (playing ? playing.match === resumed?.match : resumed && arena) return;
    if (arena || playing?.arena_id) this.#arenas.rejoin(playing);
    else if (playing) this.#contest.lead(playing.match);
    else this.#duel.rejoin();
  }
}
