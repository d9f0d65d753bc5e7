import { say } from '../announce.js';
import { html, useEffect, useRef } from '../preact.js';

// Headline is the first word of the screen at the end of a match: told, and
// focused.
export function Headline({ text, reason }) {
  const ref = useRef(null);
  useEffect(() => {
    scrollTo(0, 0);
    ref.current.focus({ preventScroll: true });
    say(text);
  }, []);
  return html`
    <h1 class="final-headline" tabindex="-1" ref=${ref}>${text}</h1>
    <p class="hint">${reason}</p>`;
}
