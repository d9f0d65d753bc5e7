// Reception has each word of the line heard by whom it is for, and after a loss
// leads the player back to where they were.
export class Reception {
  #store;
  #entrance;
  #contest;
  #duel;
  #arenas;
  #boards;

  constructor({ store, entrance, contest, duel, arenas, boards }) {
    this.#store = store;
    this.#entrance = entrance;
    this.#contest = contest;
    this.#duel = duel;
    this.#arenas = arenas;
    this.#boards = boards;
  }

  // connection takes the session's status.
  connection(status) {
    this.#store.patch({ session: status });
    if (status.kind === 'online') this.#welcomed(status.welcome);
    if (status.kind === 'stopped') this.#entrance.stopped();
  }

  // receive takes a push, a match.state, or an error that belongs to no request.
  receive(message) {
    if (message.type === 'draining') return this.#store.patch({ notice: { code: 'draining' } });
    if (message.type === 'error') return this.#contest.astray(message.data);
    if (message.type === 'board') return this.#boards.receive(message);
    if (message.type.startsWith('arena.')) return this.#arenas.receive(message);
    this.#contest.receive(message);
  }

  // welcomed goes on where the last connection, or the last page, left off.
  #welcomed(welcome) {
    const { playing } = welcome;
    const resumed = this.#contest.resume();
    const { arena } = this.#store.get();
    this.#contest.welcomed();
    this.#entrance.welcomed(welcome);
    if (playing ? playing.match === resumed?.match : resumed && arena) return;
    if (arena || playing?.arena_id) this.#arenas.goOn(playing);
    else if (playing) this.#contest.lead(playing.match);
    else this.#duel.goOn();
  }
}
