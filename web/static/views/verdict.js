import { say } from '../announce.js';
import { t } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';
import { resultOf } from '../scene.js';
import { Outcome } from './outcome.js';

// Verdict is the result of the question that has just closed.
export function Verdict({ round, seats, outcome }) {
  const panel = useRef(null);
  const points = resultOf(round, seats.me?.id)?.points ?? 0;
  const headline = outcome === 'asking' ? t('result.closed') : t(`result.${outcome}`, { n: points });
  useEffect(() => {
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    panel.current.scrollIntoView({ block: 'nearest', behavior: calm ? 'auto' : 'smooth' });
    say([headline, ...panel.current.querySelectorAll('[data-test=answer], .explanation')].map((part) => part.textContent ?? part).join('. '));
  }, []);
  return html`
    <section class=${`verdict ${outcome}`} ref=${panel} data-test="result" data-outcome=${outcome}>
      <h2 class="verdict-headline">${headline}</h2>
      <${Outcome} round=${round} seats=${seats} />
    </section>`;
}
