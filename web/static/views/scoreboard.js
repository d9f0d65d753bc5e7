import { t } from '../i18n.js';
import { html } from '../preact.js';
import { closesAt, current, mark, phase } from '../scene.js';
import { TimeBar, TimeLeft, useReached } from './time.js';

// Scoreboard is the head of the stage: two stands, the clock between them, the
// curtain of time below, which stays in sight, and a pip for every question.
export function Scoreboard({ match, player, clock, left, right }) {
  return html`
    <div class="floor">
      ${left}
      <div class="centre"><${Centre} match=${match} clock=${clock} /></div>
      ${right}
    </div>
    <${Curtain} match=${match} clock=${clock} />
    <${Pips} match=${match} player=${player} />`;
}

function Centre({ match, clock }) {
  const now = phase(match);
  const round = match.rounds[current(match)];
  if (now === 'countdown') return match.found && html`<${Start} at=${match.found.starts_at} clock=${clock} />`;
  if (now === 'open') return html`<${Remaining} round=${round} clock=${clock} />`;
  return html`<p class="centre-number still">${current(match) + 1}<small>/${round.question.of}</small></p>`;
}

// Remaining counts the time to read, and then the time to answer.
function Remaining({ round, clock }) {
  const { reads_until } = round.question;
  const hasRead = useReached(clock, reads_until ?? 0);
  if (reads_until && !hasRead) return html`<div class="reading"><${TimeLeft} clock=${clock} until=${reads_until} label=${t('time.reading')} /><p>${t('time.reading')}</p></div>`;
  return html`<${TimeLeft} clock=${clock} until=${closesAt(round)} label=${t('duel.left')} announced />`;
}

// Start counts down; a host may open the first question later than that.
function Start({ at, clock }) {
  return !useReached(clock, at) && html`<${TimeLeft} clock=${clock} until=${at} label=${t('duel.starts')} />`;
}

function Curtain({ match, clock }) {
  const round = match.rounds[current(match)];
  const open = phase(match) === 'open';
  return html`<${TimeBar} clock=${clock} from=${round?.question?.reads_until ?? round?.question?.opens_at ?? 0} until=${open ? closesAt(round) : 0} />`;
}

function Pips({ match, player }) {
  const of = match.found?.questions ?? 0;
  const pip = (_, i) => {
    const kind = mark(match, i, player.id);
    return html`<li class=${`pip ${kind}`} aria-current=${i === current(match) ? 'step' : undefined}>
      <span class="unseen">${t('duel.progress', { n: i + 1, of })}: ${t(`mark.${kind}`)}</span></li>`;
  };
  return html`<ol class="pips">${Array.from({ length: of }, pip)}</ol>`;
}
