import { joinURL, watchURL } from '../address.js';
import { spaced } from '../arena.js';
import { number, t } from '../i18n.js';
import { html, useRef, useState } from '../preact.js';
import { ArenaTitle } from './gate.js';
import { Hosting } from './hosting.js';
import { Leave } from './leave.js';

// Lobby is where everybody waits for an arena's match: how to come in, who is
// there and, for its host, how to begin.
export function Lobby({ state, actions }) {
  const { arena } = state;
  return html`
    <section class="stage arena-lobby" data-test="arena-lobby" data-as=${arena.as}>
      <${ArenaTitle} arena=${{ ...arena, code: null }} />
      ${arena.code && html`<${Invitation} arena=${arena} game=${state.game} />`}
      <${Present} arena=${arena} />
      <p class="lobby-part">${partText(arena)}</p>
      ${arena.host && html`<${Hosting} arena=${arena} host=${actions.host} busy=${state.busy} />`}
      <${Leave} name="arena.leave" leave=${() => actions.arenas.leave()} />
    </section>`;
}

function Invitation({ arena, game }) {
  const { code, host } = arena;
  const field = useRef(null);
  const [copied, setCopied] = useState(false);
  const link = joinURL(location.href, game, code); // the page knows its address better than a server behind proxies
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      return; // it stands selected, to be copied by hand
    }
    setCopied(true);
  };
  return html`
    <div class="invitation">
      <p class="invitation-code"><span class="unseen">${t('lobby.code')} </span><span data-test="code" data-code=${code}>${spaced(code)}</span></p>
      <div class="invitation-link">
        <label for="link" class="unseen">${t('lobby.link')}</label>
        <input id="link" class="field" data-test="link" ref=${field} readonly value=${link} onFocus=${(event) => event.target.select()} />
        <button type="button" class="button small" data-test="copy" onClick=${copy}>${t('lobby.copy')}</button>
      </div>
      <p class="hint" role="status">${copied && t('lobby.copied')}</p>
      ${host && html`<p><a href=${watchURL(location.href, game, code)} target="_blank" rel="noopener" data-test="screen">${t('lobby.screen')}</a></p>`}
    </div>`;
}

function Present({ arena }) {
  const { teams, players, team } = arena;
  return html`
    <p class="lobby-players"><strong data-test="players" data-value=${players}>${number(players)}</strong> ${t('lobby.players')}</p>
    ${teams.length > 0 && html`
      <ul class="sides">${teams.map(({ id, name, players: n }) => html`
        <li key=${id} class=${`side ${id === team ? 'me' : 'them'}`} data-test=${`team-${id}`} data-players=${n}>
          <bdi class="side-name">${name}</bdi>
          ${id === team && html`<span class="tag me">${t('duel.you')}</span>`}
          <span class="side-score">${number(n)} <span class="unseen">${t('lobby.players')}</span></span>
        </li>`)}</ul>`}`;
}

function partText({ as, host, team, teams }) {
  if (as === 'player' && host) return t('lobby.host.plays');
  const name = teams.find(({ id }) => id === team)?.name;
  if (as === 'player' && name) return t('lobby.player.team', { team: name });
  return t(`lobby.${as}`);
}
