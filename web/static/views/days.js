import { dayFrom } from '../boards.js';
import { days, t } from '../i18n.js';
import { html } from '../preact.js';

// Days leads to the days that are over. Its date is null for today.
export function Days({ today, date, choose }) {
  const shown = date ?? today;
  const pick = (day) => day && choose(day < today ? day : null);
  const step = (name, sign, n) => html`
    <button type="button" class="button small" data-test=${name} aria-label=${t(`board.${name}`)} disabled=${n > 0 && shown >= today}
      onClick=${() => pick(dayFrom(shown, n))}>${sign}</button>`;
  return html`
    <div class="board-days" role="group" aria-label=${t('board.date')}>
      ${step('day-before', '‹', -1)}
      <input type="date" class="field" data-test="date" aria-label=${t('board.date')} value=${shown} max=${today}
        onChange=${(event) => pick(event.target.value)} />
      ${step('day-after', '›', 1)}
    </div>`;
}

// Span says which days a page sums over.
export function Span({ page }) {
  return page && html`<p class="hint board-span" data-test="span" data-from=${page.from} data-to=${page.to}>${days(page.from, page.to)}</p>`;
}
