import { problem, t } from '../i18n.js';
import { html, useState } from '../preact.js';
import { Recap } from './recap.js';

// Review lists the questions of a match that is over for one of its players: those that the
// page saw or, on demand, all of them as the ledger has them.
export function Review({ match, player, answers }) {
  const [shown, setShown] = useState({ state: 'seen', rounds: match.rounds });
  const load = async () => {
    setShown({ ...shown, state: 'loading' });
    try {
      const questions = await answers(match.id);
      setShown({ state: 'all', rounds: questions.map((question) => roundOf(question, player)) });
    } catch (error) {
      setShown({ ...shown, state: 'failed', error });
    }
  };
  const { state, rounds, error } = shown;
  return html`
    <div data-test=${state === 'all' ? 'reviewed' : undefined}>
      ${state !== 'all' && html`<button type="button" class="button small" data-test="review" aria-disabled=${String(state === 'loading')}
        onClick=${() => state !== 'loading' && load()}>${t('review.load')}</button>`}
      <p class="hint review-state" role="status">${state === 'loading' && t('review.loading')}${state === 'failed' && problem(error)}</p>
      <${Recap} match=${{ rounds }} player=${player} seats=${{ me: player }} takesFocus=${state === 'all'} />
    </div>`;
}

// roundOf is a question of the ledger as a round of a match (match.js).
function roundOf({ answer, explanation, given, correct, elapsed_ms, points, void: isVoid, ...question }, player) {
  return { question, closed: { void: isVoid, answer, explanation, results: [{ player: player.id, given, correct, elapsed_ms, points }] }, mine: null, own: null };
}
