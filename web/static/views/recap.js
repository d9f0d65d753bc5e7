import { t } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';
import { mark } from '../scene.js';
import { Outcome } from './outcome.js';

// Recap lists all questions of a match that is over, to read in peace, with what
// those at the seats {me?, them?} answered.
export function Recap({ match, player, seats, takesFocus = false }) {
  const heading = useRef(null);
  useEffect(() => { if (takesFocus) heading.current.focus(); }, [takesFocus]);
  const rounds = match.rounds.filter((round) => round?.question && round.closed);
  if (rounds.length === 0) return null;
  return html`
    <section class="recap">
      <h2 tabindex="-1" ref=${heading}>${t('final.recap')}</h2>
      ${rounds.map((round) => html`
        <details key=${round.question.question}>
          <summary>
            <${Mark} kind=${mark(match, round.question.question, player.id)} />
            <span lang=${round.question.lang}>${round.question.text}</span>
          </summary>
          <${Outcome} round=${round} seats=${seats} />
        </details>`)}
    </section>`;
}

const signs = { right: '✓', wrong: '✗', none: '–', void: '∅', unknown: '·' };

function Mark({ kind }) {
  return html`<span class=${`recap-mark ${kind}`}><span aria-hidden="true">${signs[kind]}</span><span class="unseen">${t(`mark.${kind}`)}:</span></span>`;
}
