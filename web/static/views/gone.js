import { say } from '../announce.js';
import { t, word } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';

// Gone shows that an arena has ended for the player, and why.
export function Gone({ state, actions }) {
  const { ended: { type, reason }, name } = state.arena;
  const names = { name: name || t('arena.unnamed') };
  const title = t(`gone.title.${type}`);
  const heading = useRef(null);
  useEffect(() => {
    heading.current.focus({ preventScroll: true });
    say(title);
  }, []);
  return html`
    <section class="stage final" data-test="gone" data-type=${type}>
      <h1 class="final-headline" tabindex="-1" ref=${heading}>${title}</h1>
      <p class="hint">${word(`gone.${reason}`, '', names)}</p>
      <div class="final-buttons">
        <button type="button" class="button primary" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
      </div>
    </section>`;
}
