import { t } from '../i18n.js';
import { html } from '../preact.js';

// nameIn is the name in the field, without its margins.
export const nameIn = ({ typed, player }) => (typed ?? player?.nickname ?? '').trim();

// NameField is the input for a name. It calls type(name) for each key. After a refusal it
// offers free names.
export function NameField({ state, type, children }) {
  return html`
    <label for="nickname">${t('home.name')}</label>
    <div class="start-name">
      <input id="nickname" class="field" data-test="nickname" value=${state.typed ?? state.player?.nickname ?? ''} maxlength="64" spellcheck=${false}
        autocomplete="nickname" aria-describedby="nickname-hint" onInput=${(event) => type(event.target.value)} />
      ${children}
    </div>
    ${!state.player && html`<p id="nickname-hint" class="hint">${t('home.name.hint')}</p>`}
    <${Suggestions} names=${state.notice?.suggestions} take=${type} />`;
}

function Suggestions({ names = [], take }) {
  if (names.length === 0) return null;
  return html`
    <div class="suggestions">
      <span>${t('home.suggestions')}</span>
      ${names.map((name, i) => html`
        <button type="button" class="chip" data-test=${`suggestion-${i}`} onClick=${() => take(name)}>${name}</button>`)}
    </div>`;
}
