import { t } from '../i18n.js';
import { html, useEffect, useState } from '../preact.js';

const PERCENTS = [25, 50, 100];

// ExtraTime lets a host give players extra time before the start. It is folded, because others
// may see the host's screen.
export function ExtraTime({ extra, extend, busy }) {
  const [name, setName] = useState('');
  const [percent, setPercent] = useState(50);
  useEffect(() => setName(''), [extra]); // after a refusal the name stays
  const submit = (event) => {
    event.preventDefault();
    if (name.trim()) extend({ nickname: name.trim(), percent });
  };
  return html`
    <details class="more extra-time" data-test="extra-time">
      <summary data-test="extra-open">${t('extra')}</summary>
      <p id="extra-hint" class="hint">${t('extra.hint')}</p>
      <form class="kick" onSubmit=${submit} autocomplete="off">
        <label class="question-filter-field">
          <span>${t('extra.who')}</span>
          <input class="field" data-test="extra-who" maxlength="64" spellcheck=${false} aria-describedby="extra-hint" value=${name} onInput=${(event) => setName(event.target.value)} />
        </label>
        <label class="question-filter-field extra-percent">
          <span>${t('extra.percent')}</span>
          <select class="field" data-test="extra-percent" onChange=${(event) => setPercent(Number(event.target.value))}>
            ${PERCENTS.map((n) => html`<option key=${n} value=${n} selected=${n === percent}>+${n} %</option>`)}
          </select>
        </label>
        <button class="button small" data-test="extra-give" disabled=${busy}>${t('extra.give')}</button>
      </form>
      <div role="status"><ul>
        ${extra.map(({ player, nickname, percent: n }) => html`
          <li key=${player} class="extra-row" data-test="extra-row" data-player=${player} data-percent=${n}>
            <bdi>${nickname}</bdi> <strong>+${n} %</strong>
            <button type="button" class="button small" data-test="extra-take" disabled=${busy}
              onClick=${() => extend({ player, percent: 0 })}>${t('extra.take')} <span class="unseen">${nickname}</span></button>
          </li>`)}
      </ul></div>
    </details>`;
}
