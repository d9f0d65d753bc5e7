import { say } from '../announce.js';
import { t } from '../i18n.js';
import { html, useEffect, useState } from '../preact.js';
import { current, phase } from '../scene.js';
import { Final } from './final.js';
import { QuestionView } from './question.js';
import { Scoreboard } from './scoreboard.js';

// DuelView is the stage of a match from its countdown to its last standing.
export function DuelView({ state, actions, clock }) {
  const { match, player, preferences } = state;
  const now = phase(match);
  if (now === 'over') return html`<${Final} match=${match} player=${player} state=${state} actions=${actions} />`;
  return html`
    <section class="stage duel" data-phase=${now}>
      <${Scoreboard} match=${match} player=${player} clock=${clock} />
      ${now === 'countdown'
        ? html`<${Countdown} />`
        : html`<${QuestionView} key=${current(match)} match=${match} player=${player} shortcuts=${preferences.shortcuts}
            answer=${(given) => actions.duel.answer(given)} />`}
      <${Leave} leave=${() => actions.duel.leave()} />
    </section>`;
}

function Countdown() {
  useEffect(() => say(`${t('duel.starts')}. ${t('duel.ready')}`), []);
  return html`<div class="countdown" data-test="countdown"><h1 class="headline">${t('duel.ready')}</h1></div>`;
}

function Leave({ leave }) {
  const [asked, setAsked] = useState(false);
  if (!asked) return html`<button type="button" class="quiet" data-test="leave" onClick=${() => setAsked(true)}>${t('duel.leave')}</button>`;
  return html`
    <div class="leave" role="group" aria-label=${t('duel.leave')}>
      <p role="alert">${t('duel.leave.sure')}</p>
      <button type="button" class="button small" data-test="leave-yes" onClick=${leave}>${t('duel.leave.yes')}</button>
      <button type="button" class="button small" data-test="leave-no" onClick=${() => setAsked(false)}>${t('duel.leave.no')}</button>
    </div>`;
}
