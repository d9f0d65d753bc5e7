import { number, t } from '../i18n.js';
import { html } from '../preact.js';
import { Stand } from './podium.js';

// Winners are the first three of a match on their podium.
export function Winners({ standings, player }) {
  if (standings.length < 2) return null;
  return html`
    <ol class="winners" data-test="podium">${standings.slice(0, 3).map(({ rank, player: id, nickname, score }, i) => html`
      <li key=${id} class=${`winner place-${i + 1}`}>
        <${Stand} side=${id === player.id ? 'me' : 'them'} label=${id === player.id ? t('duel.you') : ''} name=${nickname || t('report.erased')} score=${score}
          lit=${rank === 1} lamp=${html`<span class="unseen">${t('final.rank')} </span>${number(rank)}`} />
      </li>`)}</ol>`;
}
