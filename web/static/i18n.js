import enArena from './lang/en-arena.js';
import en from './lang/en.js';
import zhArena from './lang/zh-arena.js';
import zh from './lang/zh.js';

const dictionaries = { en: { ...en, ...enArena }, zh: { ...zh, ...zhArena } };
const tags = { en: 'en', zh: 'zh-CN' };
let current = 'en';

export const languages = Object.keys(dictionaries);

// preferred is the language to start in, from the browser's list.
export const preferred = (list = navigator.languages) =>
  list.map((tag) => tag.slice(0, 2).toLowerCase()).find((lang) => dictionaries[lang]) ?? 'en';

// speak sets the language of t() and number(), and the language and title of the document.
export function speak(lang, title) {
  current = lang;
  document.documentElement.lang = tags[lang];
  document.title = `${title} · ${t('title')}`;
}

// tag is a language's BCP 47 tag, as questions name theirs.
export const tag = (lang) => tags[lang];

// t is the text of a key with its {names} filled in.
export const t = (key, names = {}) =>
  dictionaries[current][key].replace(/\{(\w+)\}/g, (_, name) => names[name]);

// word is what t says of a key that may not be in the dictionary, else the fallback.
export const word = (key, fallback, names) => (dictionaries[current][key] ? t(key, names) : fallback);

export const number = (value, options) =>
  new Intl.NumberFormat(tags[current], options).format(value);

// points are points that were earned or, below 0, taken.
export const points = (value) => number(value, { signDisplay: 'exceptZero' });

export const seconds = (ms) => t('seconds', { n: number(ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });

// when is an instant, in epoch ms, as local date and time.
export const when = (at) => new Intl.DateTimeFormat(tags[current], { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at));

// days is a span of civil dates, YYYY-MM-DD each.
export const days = (from, to) =>
  new Intl.DateTimeFormat(tags[current], { dateStyle: 'medium', timeZone: 'UTC' }).formatRange(new Date(from), new Date(to));

// problem is what an error of the server says to a player. It is the text for its code and
// reason. For a code of a newer server it is the server's own message.
export function problem({ code, reason, message, retry_after_ms }) {
  const ours = word(`reason.${reason}`, word(`error.${code}`, message || t('error.internal')));
  if (!WAITING.includes(code)) return ours;
  const later = retry_after_ms >= 1000 ? t('error.wait', { n: number(Math.ceil(retry_after_ms / 1000)) }) : t('error.later');
  return t('error.and', { ours, later });
}

// WAITING are the codes after which the same request may succeed later.
const WAITING = ['rate_limited', 'overloaded', 'unavailable'];
