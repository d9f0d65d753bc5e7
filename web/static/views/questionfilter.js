import { languages, t } from '../i18n.js';
import { categories, difficulties } from '../preferences.js';
import { html } from '../preact.js';

// QuestionFilter selects which questions a player prefers. Its children appear below.
export function QuestionFilter({ preferences, prefer, children }) {
  const select = (name, values, label) => html`
    <label class="question-filter-field">
      <span>${t(`filter.${name}`)}</span>
      <select class="field" data-test=${`filter-${name}`} onChange=${(event) => prefer({ [name]: event.target.value })}>
        ${['', ...values].map((value) => html`
          <option value=${value} selected=${preferences[name] === value}>${value ? t(`${label}.${value}`) : t('filter.any')}</option>`)}
      </select>
    </label>`;
  return html`
    <fieldset class="question-filter">
      <legend>${t('home.filter')}</legend>
      ${select('lang', languages, 'lang')}
      ${select('category', categories, 'category')}
      ${select('difficulty', difficulties, 'difficulty')}
      ${children}
    </fieldset>`;
}
