import { html } from '../preact.js';
import { letter } from '../keys.js';

// Each choice has a shape, a letter and a colour of its own, by its index.
const outlines = [
  'M24 3 46 43H2Z',
  'M24 1 47 24 24 47 1 24Z',
  'M24 2a22 22 0 1 0 .01 0Z',
  'M4 4h40v40H4Z',
  'M24 2 46 18 38 44H10L2 18Z',
  'M24 1l7 15 16 2-12 11 3 16-14-8-14 8 3-16L1 18l16-2Z',
  'M13 4h22l12 20-12 20H13L1 24Z',
  'M15 2h18v13h13v18H33v13H15V33H2V15h13Z',
];

// Shape is the badge of a choice. Its letter is for sighted players; the
// choice's own label says it to the others.
export function Shape({ index }) {
  return html`
    <svg class=${`shape shape-${index}`} viewBox="0 0 48 48" aria-hidden="true">
      <path d=${outlines[index]} stroke-linejoin="round" />
      <text x="24" y=${index === 0 ? 38 : 31} text-anchor="middle">${letter(index)}</text>
    </svg>`;
}

// Emblem is the mark of the game: one podium standing, one fallen.
export function Emblem() {
  return html`
    <svg class="emblem" viewBox="0 0 28 28" aria-hidden="true">
      <circle class="emblem-me" cx="7.5" cy="4.5" r="3.5" />
      <path class="emblem-me" d="M3 10h9v16H3Z" />
      <path class="emblem-them" d="m15.5 17.5 12 2-1 7.5-12-2Z" />
    </svg>`;
}
