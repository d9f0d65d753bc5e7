import { say } from '../announce.js';
import { t } from '../i18n.js';
import { html, useEffect } from '../preact.js';
import { current, mark, phase, podium, resultOf, seats } from '../scene.js';
import { Final } from './final.js';
import { Leave } from './leave.js';
import { Podium } from './podium.js';
import { QuestionView } from './question.js';
import { Scoreboard } from './scoreboard.js';
import { Verdict } from './verdict.js';

// DuelView is the stage of a duel from its countdown to its last standing.
export function DuelView({ state, actions, clock }) {
  const { match, player, preferences } = state;
  const now = phase(match);
  if (now === 'over') return html`<${Final} match=${match} player=${player} state=${state} actions=${actions} />`;
  const round = match.rounds[current(match)];
  const both = seats(match, player.id);
  return html`
    <section class="stage duel" data-phase=${now}>
      <${Podiums} match=${match} player=${player} clock=${clock} />
      ${now === 'countdown'
        ? html`<${Countdown} />`
        : html`<${QuestionView} key=${current(match)} round=${round} seats=${both} shortcuts=${preferences.shortcuts} clock=${clock}
            answer=${(given) => actions.contest.answer(given)}>
            ${round.closed && html`<${Result} match=${match} player=${player} round=${round} seats=${both} />`}
          <//>`}
      <${Leave} name="duel.leave" leave=${() => actions.duel.leave()} />
    </section>`;
}

function Podiums({ match, player, clock }) {
  const { me, them } = seats(match, player.id);
  const playing = match.rounds.length > 0;
  return html`<${Scoreboard} match=${match} player=${player} clock=${clock}
    left=${html`<${Podium} side="me" seat=${me ?? player} ...${playing && podium(match, me)} />`}
    right=${html`<${Podium} side="them" seat=${them} ...${playing && podium(match, them)} />`} />`;
}

function Countdown() {
  useEffect(() => say(`${t('duel.starts')}. ${t('duel.ready')}`), []);
  return html`<div class="countdown" data-test="countdown"><h1 class="headline">${t('duel.ready')}</h1></div>`;
}

function Result({ match, player, round, seats }) {
  const outcome = mark(match, round.question.question, player.id);
  const n = resultOf(round, player.id)?.points ?? 0;
  return html`<${Verdict} round=${round} seats=${seats} outcome=${outcome}
    headline=${outcome === 'unknown' ? t('result.closed') : t(`result.${outcome}`, { n })} />`;
}
