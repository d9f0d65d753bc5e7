import { say } from '../announce.js';
import { t, word } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';

// Gone shows that an arena has ended for the player, and why.
export function Gone({ state, actions }) {
  const { ended: { type, reason }, name } = state.arena;
  const names = { name: name || t('arena.unnamed') };
  const heading = useRef(null);
  useEffect(() => {
    heading.current.focus({ preventScroll: true });
    say(t(`gone.${type}`));
  }, []);
  return html`
    <section class="stage final" data-test="gone" data-type=${type}>
      <h1 class="final-headline" tabindex="-1" ref=${heading}>${t(`gone.${type}`)}</h1>
      <p class="hint">${word(`gone.${type}.${reason}`, t(`gone.${type}.hint`, names), names)}</p>
      <div class="final-buttons">
        <button type="button" class="button primary" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
      </div>
    </section>`;
}
