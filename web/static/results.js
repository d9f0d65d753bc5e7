import * as api from './api.js';
import { draftOf, keepDraft } from './draft.js';
import { itemsOf, settingsOf } from './report.js';

const DRAFTS = 'laststand.drafts';
const ATTEMPTS = 8;
const AGAIN_MS = 1000;
const ON_THE_WAY = ['unavailable', 'not_over'];

// Results reads what is left of matches: a player's answers, and a host's arenas with their
// reports. It owns the screens {screen: 'past'} and {screen: 'report', id} of arenaScreen.
export class Results {
  #store;
  #account;
  #contest;
  #box;

  // box keeps the drafts of the arenas that were made on this page.
  constructor({ store, account, contest, box }) {
    this.#store = store;
    this.#account = account;
    this.#contest = contest;
    this.#box = box;
  }

  // answers are the questions of a match with what the player answered.
  answers(match) {
    return patiently(ON_THE_WAY, async () => (await api.ownAnswers(await this.#account.token(), match)).questions);
  }

  // past opens the list of the arenas that the player has made.
  past() {
    this.#show({ screen: 'past' });
  }

  async arenas(query) {
    return api.hostedArenas(await this.#account.token(), query);
  }

  // open shows the report of an arena.
  open(id) {
    this.#show({ screen: 'report', id });
  }

  report(id, query) {
    return patiently(ON_THE_WAY, async () => api.report(await this.#account.token(), id, query));
  }

  // makeVoid makes a question of an arena void, and returns its report after that.
  async makeVoid(id, question) {
    await api.makeVoid(await this.#account.token(), id, question);
    return this.report(id);
  }

  // file reads the whole report of an arena as csv or xlsx.
  async file(id, format) {
    return api.reportFile(await this.#account.token(), id, format);
  }

  // keep notes the draft of an arena, for again.
  keep(id, draft) {
    this.#box.set(DRAFTS, keepDraft(this.#box.get(DRAFTS), id, draft));
  }

  // again opens the form with the settings of an arena. Where this page did not make it, known
  // has some of them.
  again(id, known) {
    this.#show({ screen: 'draft', draft: this.#draftOf(id) ?? known });
  }

  // sameQuestions opens the form with the settings and the questions of an arena's report.
  sameQuestions(id, report) {
    const draft = this.#draftOf(id) ?? settingsOf(report);
    this.#show({ screen: 'draft', draft: { ...draft, items: itemsOf(report, draft.items) } });
  }

  #draftOf(id) {
    return draftOf(this.#box.get(DRAFTS), id);
  }

  #show(arenaScreen) {
    this.#contest.forget();
    this.#store.patch({ arenaScreen, arena: null, notice: null });
  }
}

// patiently asks again for what is on its way to the ledger, for some seconds.
export async function patiently(codes, ask, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt >= ATTEMPTS || !codes.includes(error.code)) throw error;
      await sleep(Math.max(error.retry_after_ms ?? 0, AGAIN_MS));
    }
  }
}
