import { say } from '../announce.js';
import { arenaOf } from '../arena.js';
import { partOf } from '../field.js';
import { t } from '../i18n.js';
import { html, useEffect } from '../preact.js';
import { current, phase, resultOf } from '../scene.js';
import { Conduct } from './conduct.js';
import { Ending } from './ending.js';
import { FieldStand, OwnStand, Sides } from './field.js';
import { Leave } from './leave.js';
import { QuestionView } from './question.js';
import { Result } from './results.js';
import { Scoreboard } from './scoreboard.js';
import { useReached } from './time.js';

// ArenaView is the stage of an arena's match, for those who play, those who are
// out, those who watch, and its host.
export function ArenaView({ state, actions, clock }) {
  const { match, player, preferences } = state;
  const arena = arenaOf(state);
  const now = phase(match);
  if (now === 'over') return html`<${Ending} match=${match} arena=${arena} player=${player} results=${actions.results} home=${actions.home} />`;
  const part = partOf(arena, match, player.id);
  const round = match.rounds[current(match)];
  const seats = part === 'watching' ? {} : { me: player };
  return html`
    <section class="stage arena" data-phase=${now} data-test="stage" data-part=${part}>
      <p class="arena-kind"><bdi>${arena.name}</bdi>${match.found && html`<span> · ${t(`mode.${match.found.mode}`)}</span>`}</p>
      <${Scoreboard} match=${match} player=${player} clock=${clock}
        left=${html`<${OwnStand} match=${match} arena=${arena} player=${player} part=${part} />`}
        right=${html`<${FieldStand} match=${match} />`} />
      ${arena.late && html`<${Late} match=${match} player=${player} />`}
      ${!(round?.closed && match.found?.mode === 'race') && html`<${Sides} match=${match} own=${arena.team} />`}
      ${now === 'countdown'
        ? html`<${Countdown} match=${match} clock=${clock} />`
        : html`<${QuestionView} key=${current(match)} round=${round} seats=${seats} part=${part} takesFocus=${!arena.host} shortcuts=${preferences.shortcuts} clock=${clock}
            answer=${(given) => actions.contest.answer(given)}>
            ${round.closed && html`<${Result} match=${match} round=${round} seats=${seats} player=${player} team=${arena.team} />`}
          <//>`}
      ${arena.host && html`<${Conduct} match=${match} arena=${arena} player=${player} host=${actions.host} clock=${clock} busy=${state.busy} />`}
      <${Leave} name="arena.leave" leave=${() => actions.arenas.leave()} />
    </section>`;
}

// Late tells who came after the start, until their first result.
function Late({ match, player }) {
  useEffect(() => say(t('arena.late')), []);
  if (match.rounds.some((round) => resultOf(round, player.id))) return null;
  return html`<p class="late" data-test="late">${t('arena.late')}</p>`;
}

function Countdown({ match, clock }) {
  const isDue = useReached(clock, (match.found?.starts_at ?? Infinity) + 1000);
  const isAhead = Boolean(match.found); // else it may be on: the page is on its way back
  useEffect(() => { if (isAhead) say(`${t('duel.starts')}. ${t('duel.ready')}`); }, [isAhead]);
  return html`
    <div class="countdown" data-test="countdown">
      <h1 class="headline">${t('duel.ready')}</h1>
      ${isDue && html`<p class="hint">${t('arena.due')}</p>`}
    </div>`;
}
