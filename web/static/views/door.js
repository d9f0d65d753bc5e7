import { asCode } from '../arena.js';
import { t } from '../i18n.js';
import { html, useState } from '../preact.js';

// Door is the way to arenas: into one by its code, or to one of the player's own.
export function Door({ visit, draft, busy }) {
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const enter = (event) => {
    event.preventDefault();
    const code = asCode(typed);
    setWrong(!code);
    if (code) visit(code);
  };
  return html`
    <section class="door" aria-labelledby="door">
      <h2 id="door">${t('door.title')}</h2>
      <p class="hint">${t('door.hint')}</p>
      <form class="door-code" onSubmit=${enter} autocomplete="off">
        <label for="arena-code" class="unseen">${t('door.code')}</label>
        <input id="arena-code" class="field" data-test="arena-code" value=${typed} inputmode="numeric" maxlength="12" placeholder=${t('door.code')}
          aria-invalid=${String(wrong)} aria-describedby="arena-code-fault" onInput=${(event) => { setTyped(event.target.value); setWrong(false); }} />
        <button class="button" data-test="arena-enter" disabled=${busy}>${t('door.enter')}</button>
      </form>
      <p id="arena-code-fault" class="bad" role="alert">${wrong && t('door.code.wrong')}</p>
      <button type="button" class="button" data-test="arena-host" onClick=${draft}>${t('door.host')}</button>
    </section>`;
}
