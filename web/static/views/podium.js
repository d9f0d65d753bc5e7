import { number, t } from '../i18n.js';
import { html } from '../preact.js';

// Podium is one player's place on the stage: a lamp that lights once an answer
// is in, the name, the score, and after the reveal what the answer was worth.
// side is `me` or `them`; without a seat the podium is free.
export function Podium({ side, seat, score, answered = false, result = null }) {
  const name = seat?.nickname ?? t('wait.empty');
  const playing = score !== undefined;
  return html`
    <div class=${`podium ${side} ${seat ? '' : 'free'}`}>
      <div class=${`lamp ${answered ? 'lit' : ''} ${result ? outcome(result) : ''}`} data-lit=${String(answered)}
        data-test=${side === 'them' ? 'opponent' : 'own'}>${playing && lampText(answered, result)}</div>
      <div class="podium-front">
        <p class="podium-who"><span class="podium-side">${sideText(side, seat)}</span> <bdi class="podium-name">${name}</bdi></p>
        ${playing && html`<p class="podium-score"><span class="unseen">${t('final.score')} </span>
          <span data-test=${`score-${side}`} data-value=${score}>${number(score)}</span></p>`}
        ${!playing && seat?.rating !== undefined && html`<p class="podium-rating">${t('duel.rating', { n: number(seat.rating) })}</p>`}
      </div>
    </div>`;
}

function lampText(answered, result) {
  if (result) return html`<span>${result.points > 0 ? t('result.points', { n: result.points }) : t(`mark.${outcome(result)}`)}</span>`;
  return html`<span>${t(answered ? 'duel.locked' : 'duel.thinking')}</span>`;
}

function outcome(result) {
  if (result.given === null) return 'none';
  return result.correct ? 'right' : 'wrong';
}

function sideText(side, seat) {
  if (seat?.bot) return t('duel.bot');
  return t(side === 'me' ? 'duel.you' : 'duel.them');
}
