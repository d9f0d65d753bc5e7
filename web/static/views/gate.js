import { spaced } from '../arena.js';
import { number, t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { nameIn, NameField } from './name.js';

// Gate describes an arena and asks for a name before joining.
export function Gate({ state, actions }) {
  const { busy, arenaScreen: { code, look } } = state;
  const [team, setTeam] = useState('');
  const isLate = look.state === 'playing' && look.late_join === 'zero';
  const isOpen = look.state === 'lobby' || isLate;
  const join = (as) => (event) => {
    event.preventDefault();
    actions.arenas.join(code, { nickname: nameIn(state), as, ...(team && as === 'player' && { team }) });
  };
  return html`
    <section class="stage gate" data-test="gate">
      <${ArenaTitle} arena=${{ ...look, code }} />
      <p class="arena-facts">${t('arena.players', { n: number(look.players) })} · ${t(`arena.state.${look.state}`)}</p>
      <form class="start" onSubmit=${join(isOpen ? 'player' : 'spectator')} autocomplete="off">
        ${isOpen && html`<${NameField} state=${state} type=${(name) => actions.login.type(name)} />`}
        ${isOpen && look.teams.length > 0 && html`<${TeamSelect} teams=${look.teams} team=${team} choose=${setTeam} />`}
        <div class="start-buttons">
          ${isOpen && html`<button class="button primary" data-test="join" disabled=${busy}>${t('gate.join')}</button>`}
          ${look.state !== 'over' && html`
            <button type="button" class=${`button ${isOpen ? '' : 'primary'}`} data-test="watch" disabled=${busy} onClick=${join('spectator')}>${t('gate.watch')}</button>`}
        </div>
        ${look.state !== 'lobby' && html`<p class="hint">${t(isLate ? 'gate.late' : `gate.${look.state}`)}</p>`}
        ${actions.host.isHosts(code) && html`
          <button type="button" class="button" data-test="host-again" disabled=${busy} onClick=${() => actions.host.again()}>${t('gate.host')}</button>`}
      </form>
      <button type="button" class="quiet" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
    </section>`;
}

// ArenaTitle is an arena's name, below what is played in it and its code.
export function ArenaTitle({ arena }) {
  const heading = useRef(null);
  useEffect(() => {
    scrollTo(0, 0);
    heading.current.focus({ preventScroll: true });
  }, []);
  return html`
    <p class="arena-kind">${arena.mode && t(`mode.${arena.mode}`)}${arena.code && html`<span> · ${spaced(arena.code)}</span>`}</p>
    <h1 class="arena-title" tabindex="-1" ref=${heading}><bdi>${arena.name || t('arena.unnamed')}</bdi></h1>
    ${arena.mode && html`<p class="hint arena-rules">${t(`mode.${arena.mode}.rules`)}</p>`}`;
}

// TeamSelect chooses a team, '' for the smallest.
export function TeamSelect({ teams, team, choose }) {
  return html`
    <label class="question-filter-field take-team">
      <span>${t('gate.team')}</span>
      <select class="field" data-test="take-team" onChange=${(event) => choose(event.target.value)}>
        <option value="" selected=${team === ''}>${t('gate.team.any')}</option>
        ${teams.map(({ id, name, players }) => html`<option key=${id} value=${id} selected=${team === id}>${name} (${number(players)})</option>`)}
      </select>
    </label>`;
}
