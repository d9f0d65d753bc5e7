// Login gives the player a name and connects. It owns the store's `player`, `notice`, `busy`
// and `typed`, which is the text in the name field, or null.
export class Login {
  #store;
  #account;
  #connect;
  #waiting = [];

  // connect opens the connection.
  constructor({ store, account, connect }) {
    this.#store = store;
    this.#account = account;
    this.#connect = connect;
  }

  type(name) {
    this.#store.patch({ typed: name });
  }

  // enter signs in and waits until the player is online. An empty nickname keeps the known or
  // generated one. arena is the code of the arena that a new player joins.
  async enter(nickname = '', arena = undefined) {
    await this.#named(nickname, arena);
    if (this.#store.get().session.kind === 'online') return;
    const online = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (this.#store.get().session.kind !== 'connecting') this.#connect();
    await online;
  }

  async rename(nickname) {
    await this.trying(() => this.#named(nickname));
  }

  // trying runs an action of the player and shows its error as the notice.
  async trying(step) {
    this.#store.patch({ notice: null, busy: true });
    try {
      await step();
    } catch (error) {
      if (error.code !== 'disconnected') this.#store.patch({ notice: error });
    } finally {
      this.#store.patch({ busy: false });
    }
  }

  // welcomed resolves all calls of enter that wait.
  welcomed({ player_id, nickname }) {
    const { notice } = this.#store.get();
    this.#store.patch({ player: { id: player_id, nickname }, notice: notice?.code === 'draining' ? null : notice });
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  // stopped rejects all calls of enter that wait.
  stopped() {
    for (const { reject } of this.#waiting.splice(0)) reject({ code: 'disconnected' });
  }

  async #named(nickname, arena) {
    if (!this.#store.get().player) {
      const guest = await this.#account.signIn(nickname, arena);
      this.#store.patch({ player: { id: guest.player_id, nickname: guest.nickname } });
    }
    if (nickname && nickname !== this.#store.get().player.nickname) await this.#rename(nickname);
    this.#store.patch({ typed: null });
  }

  async #rename(nickname) {
    const claimed = await this.#account.rename(nickname);
    this.#store.patch({ player: { ...this.#store.get().player, nickname: claimed.nickname } });
  }
}
