import { problem } from '../i18n.js';
import { html } from '../preact.js';
import { DuelView } from './duel.js';
import { Home } from './home.js';
import { Line } from './line.js';
import { Masthead } from './masthead.js';
import { Waiting } from './waiting.js';

// App is the page: which of its screens shows follows from the state alone.
export function App({ state, actions, clock }) {
  return html`
    <${Masthead} preferences=${state.preferences} prefer=${actions.prefer} session=${state.session} />
    <${Line} session=${state.session} connect=${actions.connect} clock=${clock} />
    <${Notice} notice=${state.notice} />
    <main id="game"><${Screen} state=${state} actions=${actions} clock=${clock} /></main>`;
}

function Screen({ state, actions, clock }) {
  if (state.match) return html`<${DuelView} key=${state.match.id} state=${state} actions=${actions} clock=${clock} />`;
  if (state.queue) return html`<${Waiting} state=${state} actions=${actions} />`;
  return html`<${Home} state=${state} actions=${actions} />`;
}

function Notice({ notice }) {
  return html`<div role="alert" class="notice" data-test="notice" hidden=${!notice}>${notice && problem(notice)}</div>`;
}
