import { bounds, isLimit } from '../draft.js';
import { number, t } from '../i18n.js';
import { html } from '../preact.js';

// PickedItems are the questions that a host has picked, each with an own time and weight. Only a
// race has weights.
export function PickedItems({ draft, write, wrong, faultText }) {
  const { items, mode } = draft;
  const set = (i, fields) => write({ items: items.map((item, other) => (other === i ? { ...item, ...fields } : item)) });
  const isWrong = wrong === 'items' || wrong === 'picked';
  return html`
    <fieldset class="options" data-test="picked">
      <legend>${t('draft.items')}</legend>
      <p class="hint" id="hint-items">${t('draft.items.hint')}</p>
      <ol class="picked-items">${items.map(({ id, text, seconds, weight }, i) => {
        const isBad = wrong === 'items' && !isLimit(seconds);
        const n = { n: number(i + 1) };
        return html`
          <li key=${id}>
            <span class="picked-text">${number(i + 1)}. ${text}</span>
            <input class="field" name=${isBad ? 'items' : undefined} data-test=${`item-seconds-${i}`} inputmode="numeric" value=${seconds} placeholder=${`${draft.seconds} s`}
              aria-label=${t('draft.item.seconds', n)} aria-invalid=${String(isBad)} aria-describedby=${isBad ? 'fault-items' : 'hint-items'}
              onInput=${(event) => set(i, { seconds: event.target.value })} />
            ${mode === 'race' && html`
              <select class="field" data-test=${`item-weight-${i}`} aria-label=${t('draft.item.weight', n)} onChange=${(event) => set(i, { weight: event.target.value })}>
                ${['0', '1', '2'].map((value) => html`<option value=${value} selected=${weight === value}>${t(`draft.weight.${value}`)}</option>`)}
              </select>`}
            <button type="button" class="button small" data-test=${`item-remove-${i}`} aria-label=${t('draft.item.remove', n)} disabled=${items.length === 1}
              onClick=${() => write({ items: items.filter((_, other) => other !== i) })}>✕</button>
          </li>`;
      })}</ol>
      ${isWrong && html`<p id="fault-items" class="bad" role="alert" data-test="fault">${faultText}</p>`}
      <button type="button" class="button small" name="picked" data-test="random" onClick=${() => write({ items: null, count: String(Math.min(items.length, bounds.count.max)) })}>${t('draft.items.random')}</button>
    </fieldset>`;
}
