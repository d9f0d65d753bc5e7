// Entrance is where the page's player takes a name and comes online: the
// store's `player`, `notice`, `busy`, and `typed`, the name that is in the
// field, null for none.
export class Entrance {
  #store;
  #account;
  #connect;
  #waiting = [];

  // connect opens the line.
  constructor({ store, account, connect }) {
    this.#store = store;
    this.#account = account;
    this.#connect = connect;
  }

  type(name) {
    this.#store.patch({ typed: name });
  }

  // enter signs in (nickname, empty: as known or as given) and goes online;
  // arena is the code of the arena that a newcomer comes for.
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

  // trying takes a step of the player's and makes its error the notice.
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

  // welcomed lets those in who wait to enter.
  welcomed({ player_id, nickname }) {
    const { notice } = this.#store.get();
    this.#store.patch({ player: { id: player_id, nickname }, notice: notice?.code === 'draining' ? null : notice });
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  // stopped turns them away.
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
