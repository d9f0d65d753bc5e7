import { say } from '../announce.js';
import { html, useEffect, useRef } from '../preact.js';
import { Outcome } from './outcome.js';

// Verdict is the result of the question that has just closed; outcome is the
// player's, as scene.js marks it.
export function Verdict({ round, seats, outcome, headline, children }) {
  const panel = useRef(null);
  useEffect(() => {
    const isMotionReduced = matchMedia('(prefers-reduced-motion: reduce)').matches;
    panel.current.scrollIntoView({ block: 'nearest', behavior: isMotionReduced ? 'auto' : 'smooth' });
  }, []);
  useEffect(() => {
    say([headline, ...panel.current.querySelectorAll('[data-test=answer], .explanation, [data-test=stand]')].map((part) => part.textContent ?? part).join('. '));
  }, [headline]);
  return html`
    <section class=${`verdict ${outcome}`} ref=${panel} data-test="result" data-outcome=${outcome}>
      <h2 class="verdict-headline">${headline}</h2>
      <${Outcome} round=${round} seats=${seats} />
      ${children}
    </section>`;
}
