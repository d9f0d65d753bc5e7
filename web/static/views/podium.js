import { number, points, t } from '../i18n.js';
import { html } from '../preact.js';
import { outcomeOf } from '../scene.js';

// Podium shows one player: a lamp that lights after the answer, the name and the score. After
// the reveal it also shows the points of the answer.
export function Podium({ side, seat, score, answered = false, result = null }) {
  const playing = score !== undefined;
  return html`<${Stand} side=${side} free=${!seat} label=${sideText(side, seat)} name=${seat?.nickname ?? t('wait.empty')} score=${score}
    lit=${answered} looks=${result && outcomeOf(result)} lamp=${playing && lampText(answered, result)}>
    ${!playing && seat?.rating !== undefined && html`<p class="podium-rating">${t('duel.rating', { n: number(seat.rating) })}</p>`}
  <//>`;
}

// Stand draws a podium: label and name, and below them a lamp with a text. looks is the style
// of a result: `right`, `wrong` or `none`. The score, if any, is in points.
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
  if (result) return result.points ? points(result.points) : t(`mark.${outcomeOf(result)}`);
  return t(answered ? 'duel.locked' : 'duel.thinking');
}

function sideText(side, seat) {
  if (seat?.bot) return t('duel.bot');
  return t(side === 'me' ? 'duel.you' : 'duel.them');
}
