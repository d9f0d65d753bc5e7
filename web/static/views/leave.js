import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';

// Leave is a way out that asks once more. name is the key of its texts, with
// `.sure`, `.yes` and `.no`; test that of its data-test names. The keyboard's focus
// goes to the way back, and then back to the way out.
export function Leave({ name, test = 'leave', leave }) {
  const [asked, setAsked] = useState(false);
  const button = useRef(null);
  const wasAsked = useRef(false);
  useEffect(() => {
    if (asked || wasAsked.current) button.current.focus();
    wasAsked.current = asked;
  }, [asked]);
  if (!asked) return html`<button key="ask" type="button" class="quiet" data-test=${test} ref=${button} onClick=${() => setAsked(true)}>${t(name)}</button>`;
  const yes = () => {
    setAsked(false);
    leave();
  };
  return html`
    <div class="leave" role="group" aria-label=${t(name)}>
      <p role="alert">${t(`${name}.sure`)}</p>
      <button type="button" class="button small" data-test=${`${test}-yes`} onClick=${yes}>${t(`${name}.yes`)}</button>
      <button type="button" class="button small" data-test=${`${test}-no`} ref=${button} onClick=${() => setAsked(false)}>${t(`${name}.no`)}</button>
    </div>`;
}
