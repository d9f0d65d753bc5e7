import * as api from './api.js';
import { arenaOf, asCode, called, kept, recalled, seated, told, unnamed } from './arena.js';

const KEPT = 'laststand.arena';

// Arenas leads into arenas and out of them, and takes what the server tells about
// the one that the player is in: the store's `arena` and `door`. The door is a
// screen on the way in: {screen: 'gate', code, look}, look being null while it
// is fetched, or {screen: 'draft'} (host.js).
export class Arenas {
  #store;
  #entrance;
  #contest;
  #request;
  #box;

  // box keeps which arena the player is in.
  constructor({ store, entrance, contest, request, box }) {
    this.#store = store;
    this.#entrance = entrance;
    this.#contest = contest;
    this.#request = request;
    this.#box = box;
    this.#keep();
  }

  // comeBack goes back to the arena that the page was in, and to the one that
  // its address names: {arena, watch}. Who only watched is free to go elsewhere.
  comeBack({ arena: text, watch }) {
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
    this.#store.patch({ door: { screen: 'gate', code, look: null } });
    await this.#entrance.trying(async () => {
      const look = await this.#look(code);
      if (this.#store.get().door?.code === code) this.#store.patch({ door: { screen: 'gate', code, look } });
    });
    if (this.#store.get().door?.look === null) this.#store.patch({ door: null });
  }

  // join takes a place by a code: {nickname?, team?, as?}, as in arena.join.
  async join(code, { nickname, ...place }) {
    await this.#entrance.trying(async () => {
      await this.#entrance.enter(nickname, code);
      await this.enter(called(code), place);
    });
  }

  // watch looks on, without asking for a name.
  async watch(code) {
    this.#store.patch({ door: { screen: 'gate', code, look: null } });
    await this.join(code, { as: 'spectator' });
    if (!this.#store.get().arena) this.#store.patch({ door: null });
  }

  // enter sends arena.join for an arena, by its code, and goes where that leads;
  // it throws what the server says against it.
  async enter(arena, place) {
    try {
      const joined = await this.#request('arena.join', { code: arena.code, ...place });
      this.#entered(seated(arena, joined), joined.match);
    } catch (error) {
      if (error.code !== 'already_playing' || !error.match) throw noArena(error);
      this.#store.patch({ door: null, arena: null });
      this.#contest.lead(error.match);
    }
  }

  // leave gives up the place, also where the server knows of none any more.
  async leave() {
    await this.#entrance.trying(async () => {
      await this.#request('arena.leave', { arena_id: arenaOf(this.#store.get()).id }).catch(unlessGone);
      this.#contest.forget();
      this.#store.patch({ arena: null });
    });
  }

  // goOn takes the place again on a new line: by the code or, where that is not
  // known, by what the welcome says the player is in. Who stood at the gate of
  // another arena is told why they are not there.
  async goOn(playing) {
    const state = this.#store.get();
    const { door } = state;
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
      if (door?.code && door.code !== arena.code) this.#store.patch({ notice: { code: 'already_playing' } });
    } catch (error) {
      if (error.code === 'disconnected') return;
      const isOld = !arena.id && error.code === 'no_arena'; // kept from a former visit
      this.#store.patch({ arena: null, notice: isOld ? null : error });
    }
  }

  // receive takes a push of the arena that the player is in.
  receive(message) {
    const arena = arenaOf(this.#store.get());
    if (!arena) return;
    const now = told(arena, message);
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
    this.#store.patch({ arena, door: null });
    if (match) this.#contest.lead(match);
  }
}

function unlessGone(error) {
  if (!['not_found', 'not_in_match'].includes(error.code)) throw error;
}

const noArena = (error) => (error.code === 'not_found' ? { code: 'no_arena', message: '' } : error);
