import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { Podium } from './podium.js';

// Waiting shows one podium taken and the other free, until a match is found.
export function Waiting({ state, actions }) {
  const { queue, player } = state;
  const [now, setNow] = useState(Date.now());
  const heading = useRef(null);
  useEffect(() => {
    scrollTo(0, 0);
    heading.current.focus({ preventScroll: true });
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const withBot = queue.questionFilter.bot_after_ms !== undefined;
  const waited = Math.max(0, Math.floor((now - queue.since) / 1000));
  return html`
    <section class="stage waiting" data-test="waiting" aria-labelledby="waiting">
      <div class="floor">
        <${Podium} side="me" seat=${{ nickname: player?.nickname ?? '' }} />
        <div class="centre"><p class="centre-number" aria-hidden="true">${waited}</p></div>
        <${Podium} side="them" />
      </div>
      <h1 id="waiting" class="headline" tabindex="-1" ref=${heading}>${t(withBot ? 'wait.bot' : 'wait.opponent')}</h1>
      ${!withBot && html`<p class="hint">${t('wait.hint')}</p>`}
      <button type="button" class="button" data-test="cancel" onClick=${() => actions.duel.cancel()}>${t('wait.cancel')}</button>
    </section>`;
}
