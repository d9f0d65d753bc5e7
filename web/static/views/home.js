import { t } from '../i18n.js';
import { filterOf } from '../preferences.js';
import { html } from '../preact.js';
import { Board } from './board.js';
import { ArenaAccess } from './arenaaccess.js';
import { nameIn, NameField } from './name.js';
import { QuestionFilter } from './questionfilter.js';

const AT_ONCE_MS = 1;

// Home is where a player takes a name, says what to be asked, and plays.
export function Home({ state, actions }) {
  const { player, preferences, busy } = state;
  const play = (nickname, more) => actions.duel.play(nickname, { ...filterOf(preferences), ...more });
  return html`
    <div class="home">
      <section class="lobby" aria-label=${t('home.play')}>
        <h1 class="lead">${t('home.lead')}</h1>
        <${Start} state=${state} login=${actions.login} play=${play} />
        <${ArenaAccess} visit=${(code) => actions.arenas.visit(code)} draft=${() => actions.host.draft()} past=${player && (() => actions.results.past())} busy=${busy} />
        <${QuestionFilter} preferences=${preferences} prefer=${actions.prefer}>
          <label class="check">
            <input type="checkbox" checked=${preferences.shortcuts} onChange=${(event) => actions.prefer({ shortcuts: event.target.checked })} />
            <span>${t('home.shortcuts')}</span>
          </label>
        <//>
      </section>
      <${Board} player=${player} boards=${actions.boards} online=${state.session.kind === 'online'} />
    </div>`;
}

function Start({ state, login, play }) {
  const { player, busy } = state;
  const wanted = nameIn(state);
  const start = (more) => (event) => {
    event.preventDefault();
    play(wanted, more);
  };
  return html`
    <form class="start" onSubmit=${start({})} autocomplete="off">
      <${NameField} state=${state} type=${(name) => login.type(name)}>
        ${player && wanted && wanted !== player.nickname && html`
          <button type="button" class="button small" data-test="save-name" onClick=${() => login.rename(wanted)}>${t('home.rename')}</button>`}
      <//>
      <div class="start-buttons">
        <button class="button primary" data-test="play" disabled=${busy}>${t('home.play')}</button>
        <button type="button" class="button" data-test="play-bot" disabled=${busy}
          onClick=${start({ bot_after_ms: AT_ONCE_MS })}>${t('home.bot')}</button>
      </div>
      <p class="hint">${t('home.bot.hint')}</p>
    </form>`;
}
