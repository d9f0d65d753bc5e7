import * as api from './api.js';
import { kept, made, recalled } from './arena.js';
import { newArena } from './draft.js';

const HOSTED = 'laststand.hosted';

// Host makes an arena and does what only its host may.
export class Host {
  #store;
  #account;
  #login;
  #arenas;
  #results;
  #request;
  #box;

  // box keeps which arena this page's player made last.
  constructor({ store, account, login, arenas, results, request, box }) {
    this.#store = store;
    this.#account = account;
    this.#login = login;
    this.#arenas = arenas;
    this.#results = results;
    this.#request = request;
    this.#box = box;
  }

  // draft opens the screen on which an arena is made.
  draft() {
    this.#store.patch({ arenaScreen: { screen: 'draft' }, notice: null });
  }

  // make makes an arena of a draft and enters it.
  async make(nickname, draft, questionFilter) {
    await this.#login.trying(async () => {
      await this.#login.enter(nickname);
      const created = await api.makeArena(await this.#account.token(), newArena(draft, questionFilter));
      this.#results.keep(created.arena_id, draft);
      const arena = made(created, draft);
      this.#box.set(HOSTED, kept(arena));
      await this.#arenas.enter(arena, { as: 'host' });
    });
  }

  // isHosts says whether this page's player made the arena of a code last.
  isHosts(code) {
    return this.#hosted()?.code === code;
  }

  // again goes back to that arena as its host.
  async again() {
    await this.#login.trying(async () => {
      await this.#login.enter();
      await this.#arenas.enter(this.#hosted(), { as: 'host' });
    });
  }

  // playToo takes a seat; without a team the smallest.
  async playToo(team) {
    const place = team ? { as: 'player', team } : { as: 'player' };
    await this.#login.trying(() => this.#arenas.enter(this.#store.get().arena, place));
  }

  async start() {
    await this.#act('arena.start');
  }

  async lock() {
    await this.#act('arena.lock', {}, () => ({ locked: true }));
  }

  async close() {
    await this.#act('arena.close');
  }

  // next goes on from a question, -1 before the first.
  async next(after) {
    await this.#act('arena.next', { after });
  }

  // kick takes a player's seat away, with ban for good.
  async kick(player, ban) {
    await this.#act('arena.kick', ban ? { player, ban } : { player }, ({ removed }) => ({ removed: [...removed, player] }));
  }

  // extend gives a player extra time: {player} or {nickname}, and percent.
  async extend(data) {
    await this.#act('arena.extend', data, (_, { extra }) => ({ extra }));
  }

  // act asks for something about the arena; changes(arena, reply) are the fields that
  // being granted it changes.
  async #act(type, data = {}, changes = () => ({})) {
    await this.#login.trying(async () => {
      const reply = await this.#request(type, { arena_id: this.#store.get().arena.id, ...data });
      const { arena } = this.#store.get();
      if (arena) this.#store.patch({ arena: { ...arena, ...changes(arena, reply) } });
    });
  }

  #hosted() {
    return recalled(this.#box.get(HOSTED));
  }
}
