import { t } from '../i18n.js';
import { wishes } from '../preferences.js';
import { html, useState } from '../preact.js';
import { Board } from './board.js';
import { Wishes } from './wishes.js';

const AT_ONCE_MS = 1;

// Home is where a player takes a name, says what to be asked, and plays.
export function Home({ state, actions }) {
  const { player, preferences, busy } = state;
  const play = (nickname, more) => actions.duel.play(nickname, { ...wishes(preferences), ...more });
  return html`
    <div class="home">
      <section class="lobby" aria-label=${t('home.play')}>
        <h1 class="lead">${t('home.lead')}</h1>
        <${Start} key=${player?.nickname} state=${state} duel=${actions.duel} play=${play} busy=${busy} />
        <${Wishes} preferences=${preferences} prefer=${actions.prefer} />
      </section>
      <${Board} player=${player} />
    </div>`;
}

function Start({ state, duel, play, busy }) {
  const known = state.player?.nickname ?? '';
  const [name, setName] = useState(known);
  const wanted = name.trim();
  const start = (more) => (event) => {
    event.preventDefault();
    play(wanted, more);
  };
  return html`
    <form class="start" onSubmit=${start({})} autocomplete="off">
      <label for="nickname">${t('home.name')}</label>
      <div class="start-name">
        <input id="nickname" class="field" data-test="nickname" value=${name} maxlength="64" spellcheck=${false}
          autocomplete="nickname" aria-describedby="nickname-hint" onInput=${(event) => setName(event.target.value)} />
        ${known && wanted && wanted !== known && html`
          <button type="button" class="button small" data-test="save-name" onClick=${() => duel.rename(wanted)}>${t('home.rename')}</button>`}
      </div>
      ${!known && html`<p id="nickname-hint" class="hint">${t('home.name.hint')}</p>`}
      <${Suggestions} names=${state.notice?.suggestions} take=${setName} />
      <div class="start-buttons">
        <button class="button primary" data-test="play" disabled=${busy}>${t('home.play')}</button>
        <button type="button" class="button" data-test="play-bot" disabled=${busy}
          onClick=${start({ bot_after_ms: AT_ONCE_MS })}>${t('home.bot')}</button>
      </div>
      <p class="hint">${t('home.bot.hint')}</p>
    </form>`;
}

function Suggestions({ names = [], take }) {
  if (names.length === 0) return null;
  return html`
    <div class="suggestions">
      <span>${t('home.suggestions')}</span>
      ${names.map((name, i) => html`
        <button type="button" class="chip" data-test=${`suggestion-${i}`} onClick=${() => take(name)}>${name}</button>`)}
    </div>`;
}
