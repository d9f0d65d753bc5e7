import { languages, tag } from './i18n.js';

const KEY = 'laststand.preferences';

export const categories = [
  'arts', 'food', 'geography', 'history', 'language', 'mathematics', 'nature', 'science', 'sport', 'technology',
];
export const difficulties = ['easy', 'medium', 'hard'];

// Preferences are a player's own choices on this page, kept in the browser:
// {page, lang, category, difficulty, shortcuts}. page is the page's language;
// the next three are wishes for questions, '' for any.
export class Preferences {
  #box;
  #now;

  constructor(box, page) {
    this.#box = box;
    this.#now = { page, lang: page, category: '', difficulty: '', shortcuts: true, ...kept(box.get(KEY)) };
  }

  read() {
    return this.#now;
  }

  // write takes some fields anew. Questions follow the page's language.
  write(fields) {
    const follow = fields.page ? { lang: fields.page } : {};
    this.#now = { ...this.#now, ...follow, ...fields };
    this.#box.set(KEY, JSON.stringify(this.#now));
    return this.#now;
  }
}

// wishes are preferences as duel.join takes them: what is any is absent.
export function wishes({ lang, category, difficulty }) {
  const all = { lang: lang && tag(lang), category, difficulty };
  return Object.fromEntries(Object.entries(all).filter(([, wish]) => wish));
}

// What is kept may be of another version, or edited: only what still has a
// meaning is taken.
function kept(text) {
  const valid = {
    page: (value) => languages.includes(value),
    lang: (value) => value === '' || languages.includes(value),
    category: (value) => value === '' || categories.includes(value),
    difficulty: (value) => value === '' || difficulties.includes(value),
    shortcuts: (value) => typeof value === 'boolean',
  };
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text) ?? {}).filter(([key, value]) => valid[key]?.(value)));
  } catch {
    return {};
  }
}
