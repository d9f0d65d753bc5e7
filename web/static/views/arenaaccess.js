import { asCode } from '../arena.js';
import { t } from '../i18n.js';
import { html, useState } from '../preact.js';

// ArenaAccess leads to arenas: it joins one by its code, or creates one.
export function ArenaAccess({ visit, draft, past, busy }) {
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const enter = (event) => {
    event.preventDefault();
    const code = asCode(typed);
    setWrong(!code);
    if (code) visit(code);
  };
  return html`
    <section class="arena-access" aria-labelledby="arena-access">
      <h2 id="arena-access">${t('access.title')}</h2>
      <p class="hint">${t('access.hint')}</p>
      <form class="arena-access-code" onSubmit=${enter} autocomplete="off">
        <label for="arena-code" class="unseen">${t('access.code')}</label>
        <input id="arena-code" class="field" data-test="arena-code" value=${typed} inputmode="numeric" maxlength="12" placeholder=${t('access.code')}
          aria-invalid=${String(wrong)} aria-describedby="arena-code-fault" onInput=${(event) => { setTyped(event.target.value); setWrong(false); }} />
        <button class="button" data-test="arena-enter" disabled=${busy}>${t('access.enter')}</button>
      </form>
      <p id="arena-code-fault" class="bad" role="alert">${wrong && t('access.code.wrong')}</p>
      <button type="button" class="button" data-test="arena-host" onClick=${draft}>${t('access.host')}</button>
      ${past && html`<button type="button" class="quiet" data-test="past-arenas" onClick=${past}>${t('past.title')}</button>`}
    </section>`;
}
