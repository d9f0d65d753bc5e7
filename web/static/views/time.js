import { say } from '../announce.js';
import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';

const ANNOUNCED_AT = [10, 5];
const URGENT_S = 5;

// TimeLeft shows the whole seconds until an instant of the server's clock. It is a timer
// without live announcements; with announced it announces 10 and 5 seconds.
export function TimeLeft({ clock, until, label, announced = false }) {
  const ref = useRef(null);
  useEachFrame(() => {
    const left = Math.max(0, Math.ceil((until - clock.now()) / 1000));
    if (ref.current.textContent === String(left)) return;
    const before = Number(ref.current.textContent);
    ref.current.textContent = left;
    ref.current.classList.toggle('urgent', announced && left <= URGENT_S);
    if (announced && left < before && ANNOUNCED_AT.includes(left)) say(t('time.left', { n: left }));
  }, [until]);
  return html`<p class="centre-number" role="timer" aria-live="off" aria-label=${label} data-test="time" ref=${ref}></p>`;
}

// useReached says whether an instant of the server's clock has come.
export function useReached(clock, at) {
  const [reached, setReached] = useState(false);
  useEffect(() => {
    const left = at - clock.now();
    setReached(left <= 0);
    const timer = left > 0 && left < Infinity && setTimeout(() => setReached(true), left);
    return () => clearTimeout(timer);
  }, [at]);
  return reached;
}

// TimeBar closes like a curtain, from both ends, as time runs from one instant
// to another. Where motion is unwelcome it moves once a second.
export function TimeBar({ clock, from, until }) {
  const ref = useRef(null);
  useEachFrame(() => {
    const left = Math.max(0, until - clock.now());
    const shown = isMotionReduced() ? 1000 * Math.ceil(left / 1000) : left;
    const share = until > from ? Math.min(1, shown / (until - from)) : 0;
    ref.current.style.transform = `scaleX(${share})`;
    ref.current.classList.toggle('urgent', left <= 1000 * URGENT_S);
  }, [from, until]);
  return html`<div class="curtain" aria-hidden="true"><div class="curtain-light" ref=${ref}></div></div>`;
}

const isMotionReduced = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

function useEachFrame(paint, inputs) {
  useEffect(() => {
    let frame;
    const next = () => {
      paint();
      frame = requestAnimationFrame(next);
    };
    next();
    return () => cancelAnimationFrame(frame);
  }, inputs);
}
