import { spaced } from '../arena.js';
import { nextAct, roster } from '../field.js';
import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { phase } from '../scene.js';
import { Lock } from './hosting.js';
import { Leave } from './leave.js';
import { useReached } from './time.js';

// Conduct shows the host's controls during a match: continue (always visible), remove a
// player, close the arena.
export function Conduct({ match, arena, player, host, clock, busy }) {
  const paces = arena.pace === 'host';
  const kickable = roster(match).filter(({ id }) => id !== player.id && !arena.removed.includes(id));
  return html`
    ${paces && html`<${Next} match=${match} next=${(after) => host.next(after)} clock=${clock} />`}
    <section class="hosting" aria-label=${t('host.title')}>
      <h2 class="hosting-title">${t('host.title')}</h2>
      ${!paces && html`<p class="hint">${t('host.auto')}</p>`}
      ${arena.lateJoin && html`<p>${arena.locked ? t('host.late.locked') : t('host.late', { code: spaced(arena.code) })}</p><${Lock} arena=${arena} host=${host} busy=${busy} />`}
      <${Kick} seats=${kickable} kick=${(who, ban) => host.kick(who, ban)} busy=${busy} />
      <${Leave} name="host.close" test="close" leave=${() => host.close()} />
    </section>`;
}

// Next has the keyboard's focus from the start of the match, because the button that started it
// is gone.
function Next({ match, next, clock }) {
  const button = useRef(null);
  useEffect(() => { if (document.activeElement === document.body) button.current.focus({ preventScroll: true }); }, []);
  const isDue = useReached(clock, match.found?.starts_at ?? Infinity);
  const { act, after, n } = nextAct(match);
  const waits = phase(match) === 'countdown' && !isDue;
  const go = () => { if (!waits) next(after); };
  return html`
    <div class="next">
      <button type="button" class="button primary" data-test="next" ref=${button} data-act=${waits ? 'wait' : act} aria-disabled=${String(waits)}
        aria-describedby="next-hint" onClick=${go}>${t(`host.next.${act}`, { n })}</button>
      <p id="next-hint" class="hint">${t(waits ? 'host.next.wait' : `host.next.${act}.hint`)}</p>
    </div>`;
}

function Kick({ seats, kick, busy }) {
  const [who, setWho] = useState('');
  const [ban, setBan] = useState(false);
  if (seats.length === 0) return null;
  const submit = (event) => {
    event.preventDefault();
    if (who) kick(who, ban);
    setWho('');
  };
  return html`
    <form class="kick" onSubmit=${submit}>
      <label class="question-filter-field">
        <span>${t('host.kick.who')}</span>
        <select class="field" data-test="kick-who" onChange=${(event) => setWho(event.target.value)}>
          <option value="" selected=${who === ''}>–</option>
          ${seats.map(({ id, nickname }) => html`<option key=${id} value=${id} selected=${who === id}>${nickname}</option>`)}
        </select>
      </label>
      <label class="check"><input type="checkbox" data-test="kick-ban" checked=${ban} onChange=${(event) => setBan(event.target.checked)} /><span>${t('host.kick.ban')}</span></label>
      <button class="button small" data-test="kick" disabled=${!who || busy}>${t('host.kick')}</button>
    </form>`;
}
