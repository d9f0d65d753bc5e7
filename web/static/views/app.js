import { arenaOf } from '../arena.js';
import { problem, t } from '../i18n.js';
import { html } from '../preact.js';
import { ArenaView } from './arena.js';
import { Draft } from './draft.js';
import { DuelView } from './duel.js';
import { Gate } from './gate.js';
import { Gone } from './gone.js';
import { Home } from './home.js';
import { Line } from './line.js';
import { Lobby } from './lobby.js';
import { Masthead } from './masthead.js';
import { PastArenas } from './past.js';
import { Report } from './report.js';
import { Waiting } from './waiting.js';

// App is the page: which of its screens shows follows from the state alone.
export function App({ state, actions, clock }) {
  return html`
    <${Masthead} look=${state.look} preferences=${state.preferences} prefer=${actions.prefer} session=${state.session} />
    <div class="alerts">
      <${Line} session=${state.session} connect=${actions.connect} clock=${clock} />
      <${Notice} notice=${state.notice} />
    </div>
    <main id="game"><${Screen} state=${state} actions=${actions} clock=${clock} /></main>`;
}

const screens = { gate: Gate, draft: Draft, past: PastArenas, report: Report };

function Screen({ state, actions, clock }) {
  const { match, queue, arena, arenaScreen } = state;
  const show = (View, key) => html`<${View} key=${key} state=${state} actions=${actions} clock=${clock} />`;
  if (match) return show(arenaOf(state) ? ArenaView : DuelView, match.id);
  if (queue) return show(Waiting);
  if (arena?.ended) return show(Gone);
  if (arena?.id) return show(Lobby, arena.id);
  if (arena || arenaScreen?.look === null) return html`<p class="hint entering" role="status">${t('arena.entering')}</p>`;
  if (arenaScreen) return show(screens[arenaScreen.screen], arenaScreen.id);
  return show(Home);
}

function Notice({ notice }) {
  return html`<div role="alert" class="notice" data-test="notice" hidden=${!notice}>${notice && problem(notice)}</div>`;
}
