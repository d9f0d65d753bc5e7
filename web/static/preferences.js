import { languages, tag } from './i18n.js';

const KEY = 'laststand.preferences';

export const categories = [
  'arts', 'food', 'geography', 'history', 'language', 'mathematics', 'nature', 'science', 'sport', 'technology',
];
export const difficulties = ['easy', 'medium', 'hard'];

// Preferences stores a player's choices in the browser: {page, lang, category, difficulty,
// shortcuts}. page is the page's language. The next three filter the questions; '' means any.
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

  // write changes some fields. The language of questions follows the page's language.
  write(fields) {
    const follow = fields.page ? { lang: fields.page } : {};
    this.#now = { ...this.#now, ...follow, ...fields };
    this.#box.set(KEY, JSON.stringify(this.#now));
    return this.#now;
  }
}

// filterOf returns the preferences as duel.join expects them, without fields that are "any".
export function filterOf({ lang, category, difficulty }) {
  const all = { lang: lang && tag(lang), category, difficulty };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

// Stored preferences may come from another version or an editor. kept returns only the valid
// fields.
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
