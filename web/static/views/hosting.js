import { t } from '../i18n.js';
import { html, useState } from '../preact.js';
import { ExtraTime } from './extratime.js';
import { TeamSelect } from './gate.js';
import { Leave } from './leave.js';

// Hosting is what a host does in the lobby: begin, end the joining, take a seat
// too, or close the arena.
export function Hosting({ arena, host, busy }) {
  const isEmpty = arena.players === 0;
  const start = () => { if (!isEmpty) host.start(); };
  return html`
    <section class="hosting" aria-label=${t('host.title')}>
      <div class="start-buttons">
        <button type="button" class="button primary" data-test="start" aria-disabled=${String(isEmpty)} aria-describedby="start-hint" onClick=${start}>${t('host.start')}</button>
        <${Lock} arena=${arena} host=${host} busy=${busy} />
      </div>
      <p id="start-hint" class="hint">${t(isEmpty ? 'host.start.empty' : `host.start.${arena.pace}${arena.lateJoin ? '.late' : ''}`)} ${!arena.locked && t('host.lock.hint')}</p>
      ${arena.as === 'host' && !arena.locked && html`<${Seat} teams=${arena.teams} play=${(team) => host.playToo(team)} busy=${busy} />`}
      ${arena.mode !== 'buzzer' && html`<${ExtraTime} extra=${arena.extra} extend=${(data) => host.extend(data)} busy=${busy} />`}
      <${Leave} name="host.close" test="close" leave=${() => host.close()} />
    </section>`;
}

// Lock ends the joining of players.
export function Lock({ arena, host, busy }) {
  return html`<button type="button" class="button" data-test="lock" disabled=${arena.locked || busy} onClick=${() => host.lock()}>${t(arena.locked ? 'host.locked' : 'host.lock')}</button>`;
}

function Seat({ teams, play, busy }) {
  const [team, setTeam] = useState('');
  return html`
    <div class="seat">
      ${teams.length > 0 && html`<${TeamSelect} teams=${teams} team=${team} choose=${setTeam} />`}
      <button type="button" class="button small" data-test="play-too" disabled=${busy} onClick=${() => play(team)}>${t('host.play')}</button>
    </div>`;
}
