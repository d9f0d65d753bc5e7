import { languages, t } from '../i18n.js';
import { categories, difficulties } from '../preferences.js';
import { html } from '../preact.js';

// Wishes are what a player would like to be asked; the children stand below.
export function Wishes({ preferences, prefer, children }) {
  const wish = (name, values, label) => html`
    <label class="wish">
      <span>${t(`wish.${name}`)}</span>
      <select class="field" data-test=${`wish-${name}`} onChange=${(event) => prefer({ [name]: event.target.value })}>
        ${['', ...values].map((value) => html`
          <option value=${value} selected=${preferences[name] === value}>${value ? t(`${label}.${value}`) : t('wish.any')}</option>`)}
      </select>
    </label>`;
  return html`
    <fieldset class="wishes">
      <legend>${t('home.wishes')}</legend>
      ${wish('lang', languages, 'lang')}
      ${wish('category', categories, 'category')}
      ${wish('difficulty', difficulties, 'difficulty')}
      ${children}
    </fieldset>`;
}
