import { t, word } from '../i18n.js';
import { html } from '../preact.js';

// The fields of the screen on which a host makes an arena. Their values are in draft, and write
// changes some. The field with a fault is wrong; faultText says what the fault is.

export function Text({ name, draft, write, wrong, faultText, ...more }) {
  const isWrong = wrong === name;
  const hint = word(`draft.${name}.hint`, '');
  const about = [isWrong && `fault-${name}`, hint && `hint-${name}`].filter(Boolean).join(' ');
  return html`
    <div class="question-filter-field">
      <label for=${`draft-${name}`}>${t(`draft.${name}`)}</label>
      <input id=${`draft-${name}`} class="field" name=${name} data-test=${`draft-${name}`} value=${draft[name]} aria-invalid=${String(isWrong)}
        aria-describedby=${about || undefined} ...${more} onInput=${(event) => write({ [name]: event.target.value })} />
      ${hint && html`<small id=${`hint-${name}`}>${hint}</small>`}
      ${isWrong && html`<p id=${`fault-${name}`} class="bad" role="alert" data-test="fault">${faultText}</p>`}
    </div>`;
}

export function Options({ name, values, draft, write }) {
  return html`
    <fieldset class="options">
      <legend>${t(`draft.${name}`)}</legend>
      ${values.map((value) => html`
        <label key=${value} class="option">
          <input type="radio" name=${name} data-test=${`${name}-${value}`} checked=${draft[name] === value} onChange=${() => write({ [name]: value })} />
          <span><strong>${t(`${name}.${value}`)}</strong> <small>${t(`${name}.${value}.rules`)}</small></span>
        </label>`)}
    </fieldset>`;
}

export function Check({ name, draft, write }) {
  return html`
    <label class="check">
      <input type="checkbox" name=${name} data-test=${`draft-${name}`} checked=${draft[name]} onChange=${(event) => write({ [name]: event.target.checked })} />
      <span>${t(`draft.${name}`)} <small>${t(`draft.${name}.hint`)}</small></span>
    </label>`;
}
