import { number, t } from '../i18n.js';
import { html } from '../preact.js';
import { outcomeOf } from '../scene.js';

// Podium is one player's place on the stage: a lamp that lights once an answer
// is in, the name, the score, and after the reveal what the answer was worth.
// side is `me` or `them`; without a seat the podium is free.
export function Podium({ side, seat, score, answered = false, result = null }) {
  const playing = score !== undefined;
  return html`<${Stand} side=${side} free=${!seat} label=${sideText(side, seat)} name=${seat?.nickname ?? t('wait.empty')} score=${score}
    lit=${answered} looks=${result && outcomeOf(result)} lamp=${playing && lampText(answered, result)}>
    ${!playing && seat?.rating !== undefined && html`<p class="podium-rating">${t('duel.rating', { n: number(seat.rating) })}</p>`}
  <//>`;
}

// Stand is what a podium looks like: label and name, below a lamp with a text
// (looks: `right`, `wrong` or `none` of a result), and the score, if any, which
// is of points unless named otherwise.
export function Stand({ side, free = false, label, name, score, scored = t('final.score'), lit = false, looks = '', lamp, children }) {
  return html`
    <div class=${`podium ${side} ${free ? 'free' : ''}`}>
      <div class=${`lamp ${lit ? 'lit' : ''} ${looks || ''}`} data-lit=${String(lit)}
        data-test=${side === 'them' ? 'opponent' : 'own'}>${lamp && html`<span>${lamp}</span>`}</div>
      <div class="podium-front">
        <p class="podium-who"><span class="podium-side">${label}</span> <bdi class="podium-name">${name}</bdi></p>
        ${score !== undefined && html`<p class="podium-score"><span class="unseen">${scored} </span>
          <span data-test=${`score-${side}`} data-value=${score}>${number(score)}</span></p>`}
        ${children}
      </div>
    </div>`;
}

function lampText(answered, result) {
  if (result) return result.points > 0 ? t('result.points', { n: result.points }) : t(`mark.${outcomeOf(result)}`);
  return t(answered ? 'duel.locked' : 'duel.thinking');
}

function sideText(side, seat) {
  if (seat?.bot) return t('duel.bot');
  return t(side === 'me' ? 'duel.you' : 'duel.them');
}
