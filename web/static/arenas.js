import * as api from './api.js';
import { arenaOf, asCode, called, kept, recalled, seated, applyPush, unnamed } from './arena.js';

const KEPT = 'laststand.arena';

// Arenas joins and leaves arenas, and applies what the server pushes about the player's arena.
// It owns the store's `arena` and `arenaScreen`. arenaScreen is a screen before an arena:
// {screen: 'gate', code, look}, where look is null while it loads, or {screen: 'draft'}
// (host.js).
export class Arenas {
  #store;
  #login;
  #contest;
  #request;
  #box;

  // box stores which arena the player is in.
  constructor({ store, login, contest, request, box }) {
    this.#store = store;
    this.#login = login;
    this.#contest = contest;
    this.#request = request;
    this.#box = box;
    this.#keep();
  }

  // restore returns to the arena that the page was in, and to the arena in the address:
  // {arena, watch}. A spectator may go to another arena.
  restore({ arena: text, watch }) {
    const code = asCode(text ?? '');
    const former = recalled(this.#box.get(KEPT));
    const isElsewhere = code && former?.code !== code;
    if (former && !(isElsewhere && former.as === 'spectator')) this.#store.patch({ arena: former });
    if (text !== null && !code) this.#store.patch({ notice: { code: 'no_arena' } });
    if (isElsewhere && watch) this.watch(code);
    else if (isElsewhere) this.visit(code);
  }

  // visit opens the gate of an arena.
  async visit(code) {
    this.#store.patch({ arenaScreen: { screen: 'gate', code, look: null } });
    await this.#login.trying(async () => {
      const look = await this.#look(code);
      if (this.#store.get().arenaScreen?.code === code) this.#store.patch({ arenaScreen: { screen: 'gate', code, look } });
    });
    if (this.#store.get().arenaScreen?.look === null) this.#store.patch({ arenaScreen: null });
  }

  // join joins an arena by its code: {nickname?, team?, as?}, as in arena.join.
  async join(code, { nickname, ...place }) {
    await this.#login.trying(async () => {
      await this.#login.enter(nickname, code);
      await this.enter(called(code), place);
      const { arena } = this.#store.get();
      if (arena?.as === 'player' && arena.state === 'playing') this.#store.patch({ arena: { ...arena, late: true } });
    });
  }

  // watch joins as a spectator, without a name.
  async watch(code) {
    this.#store.patch({ arenaScreen: { screen: 'gate', code, look: null } });
    await this.join(code, { as: 'spectator' });
    if (!this.#store.get().arena) this.#store.patch({ arenaScreen: null });
  }

  // enter sends arena.join with the arena's code and shows the result. It throws the server's
  // error.
  async enter(arena, place) {
    try {
      const joined = await this.#request('arena.join', { code: arena.code, ...place });
      this.#entered(seated(arena, joined), joined.match);
    } catch (error) {
      if (error.code !== 'already_playing' || !error.match) throw noArena(error);
      this.#store.patch({ arenaScreen: null, arena: null });
      this.#contest.lead(error.match);
    }
  }

  // leave leaves the arena, even if the server no longer knows it.
  async leave() {
    await this.#login.trying(async () => {
      await this.#request('arena.leave', { arena_id: arenaOf(this.#store.get()).id }).catch(unlessGone);
      this.#contest.forget();
      this.#store.patch({ arena: null });
    });
  }

  // rejoin joins again on a new connection: by the code or, without a code, by `playing` of
  // the welcome. A player who was at the gate of another arena gets a notice.
  async rejoin(playing) {
    const state = this.#store.get();
    const { arenaScreen } = state;
    const arena = state.arena ?? unnamed(playing.arena_id);
    if (arena.ended || state.match?.over) return;
    if (!arena.code) {
      this.#store.patch({ arena: playing ? arena : null });
      if (playing) this.#contest.lead(playing.match);
      return;
    }
    const { as, team } = arena;
    try {
      await this.enter(arena, as === 'player' && team ? { as, team } : { as });
      if (arenaScreen?.code && arenaScreen.code !== arena.code) this.#store.patch({ notice: { code: 'already_playing' } });
    } catch (error) {
      if (error.code === 'disconnected') return;
      const isOld = !arena.id && error.code === 'no_arena'; // stored by an earlier visit
      this.#store.patch({ arena: null, notice: isOld ? null : error });
    }
  }

  // receive applies a push of the player's arena.
  receive(message) {
    const arena = arenaOf(this.#store.get());
    if (!arena) return;
    const now = applyPush(arena, message);
    this.#store.patch({ arena: now });
    if (now.ended?.type === 'kicked') this.#contest.forget();
  }

  #keep() {
    let last = this.#store.get().arena;
    this.#store.subscribe(({ arena }) => {
      if (arena !== last) this.#box.set(KEPT, kept(arena));
      last = arena;
    });
  }

  async #look(code) {
    try {
      return await api.arena(code);
    } catch (error) {
      throw noArena(error);
    }
  }

  #entered(arena, match) {
    const { match: shown } = this.#store.get();
    if (shown?.over) this.#store.patch({ match: null });
    this.#store.patch({ arena, arenaScreen: null });
    if (match) this.#contest.lead(match);
  }
}

function unlessGone(error) {
  if (!['not_found', 'not_in_match'].includes(error.code)) throw error;
}

const noArena = (error) => (error.code === 'not_found' ? { code: 'no_arena', message: '' } : error);
