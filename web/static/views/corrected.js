import { number, t } from '../i18n.js';
import { html } from '../preact.js';

// Corrected tells a player that a question was made void after the match (match.corrected).
export function Corrected({ match }) {
  const { corrected } = match;
  return html`<p class="hint" role="status" data-test=${corrected ? 'corrected' : undefined}>${corrected && t('final.corrected', {
    question: number(corrected.question + 1), score: number(corrected.score), rank: number(corrected.rank),
  })}</p>`;
}
