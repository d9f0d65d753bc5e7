import { blank, bounds, fault, refusedField } from '../draft.js';
import { problem, t, word } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { filterOf } from '../preferences.js';
import { Check, Options, Text } from './draftfields.js';
import { nameIn, NameField } from './name.js';
import { PickedItems } from './pickeditems.js';
import { QuestionFilter } from './questionfilter.js';

// Draft is the screen on which a host makes an arena.
export function Draft({ state, actions }) {
  const { preferences, busy, notice } = state;
  const [draft, setDraft] = useState({ ...blank, ...state.arenaScreen.draft });
  const [own, setOwn] = useState(null);
  const heading = useRef(null);
  const form = useRef(null);
  const [seen, setSeen] = useState(notice); // a refusal is over when the host writes again
  const refused = notice === seen ? null : refusedField(notice);
  const wrong = own ?? refused;
  useEffect(() => heading.current.focus({ preventScroll: true }), []);
  useEffect(() => { if (wrong) show(form.current.querySelector(`[name="${wrong}"]`)); }, [wrong]);
  const write = (fields) => {
    setDraft({ ...draft, ...fields });
    setOwn(null);
    setSeen(notice);
  };
  const make = (event) => {
    event.preventDefault();
    const found = fault(draft);
    setOwn(found);
    if (found && found === own) show(form.current.querySelector(`[name="${found}"]`));
    if (!found) actions.host.make(nameIn(state), draft, filterOf(preferences));
  };
  const faultText = own ? t(`draft.fault.${own}`, bounds[own]) : refused && refusal(refused, notice);
  const field = { draft, write, wrong, faultText };
  return html`
    <section class="stage draft" data-test="draft">
      <h1 class="headline" tabindex="-1" ref=${heading}>${t('draft.title')}</h1>
      <form class="start" onSubmit=${make} ref=${form} autocomplete="off" novalidate>
        <${Text} name="name" ...${field} maxlength=${bounds.name} />
        <${Options} name="mode" values=${['race', 'buzzer', 'survival']} ...${field} />
        ${draft.mode === 'race' && html`<${Options} name="preset" values=${['speed', 'accuracy']} ...${field} />`}
        <${Teams} teams=${draft.teams} ...${field} />
        <div class="draft-numbers">
          ${!draft.items && html`<${Text} name="count" ...${field} inputmode="numeric" />`}
          <${Text} name="seconds" ...${field} inputmode="numeric" />
        </div>
        <${Options} name="pace" values=${['auto', 'host']} ...${field} />
        <${More} field=${field} />
        ${draft.items ? html`<${PickedItems} ...${field} />` : html`<${QuestionFilter} preferences=${preferences} prefer=${actions.prefer} />`}
        <${NameField} state=${state} type=${(name) => actions.login.type(name)} />
        <div class="start-buttons"><button class="button primary" data-test="make" disabled=${busy}>${t('draft.make')}</button></div>
      </form>
      <button type="button" class="quiet" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
    </section>`;
}

// show leads to a field, also to one that is folded away.
function show(input) {
  const folded = input?.closest('details');
  if (folded) folded.open = true;
  input?.focus();
}

// refusal is what the server says about a field: its reason, else the rule of the field.
const refusal = (field, error) => (error.reason ? problem(error) : word(`draft.fault.${field}`, problem(error), bounds[field]));

function More({ field }) {
  const isRace = field.draft.mode === 'race';
  const number = (name) => html`<${Text} name=${name} ...${field} inputmode="numeric" />`;
  return html`
    <details class="more">
      <summary data-test="more-settings">${t('draft.more')}</summary>
      <div class="draft-numbers">
        ${isRace && ['points', 'penalty', 'streak'].map(number)}
        ${number('reading')}
      </div>
      ${isRace && html`<${Check} name="partial" ...${field} /><${Check} name="late" ...${field} />`}
    </details>`;
}

function Teams({ teams, write, wrong, faultText }) {
  const set = (i, name) => write({ teams: teams.map((old, other) => (other === i ? name : old)) });
  const isWrong = wrong === 'teams';
  return html`
    <fieldset class="options">
      <legend>${t('draft.teams')}</legend>
      <p class="hint">${t('draft.teams.hint')}</p>
      ${teams.map((name, i) => html`
        <div key=${i} class="start-name">
          <input class="field" name="teams" data-test=${`team-${i}`} value=${name} maxlength=${bounds.name} aria-label=${t('draft.team', { n: i + 1 })}
            aria-invalid=${String(isWrong)} aria-describedby=${isWrong ? 'fault-teams' : undefined}
            placeholder=${t('draft.team', { n: i + 1 })} onInput=${(event) => set(i, event.target.value)} />
          <button type="button" class="button small" aria-label=${t('draft.team.remove', { n: i + 1 })}
            onClick=${() => write({ teams: teams.filter((_, other) => other !== i) })}>✕</button>
        </div>`)}
      ${isWrong && html`<p id="fault-teams" class="bad" role="alert" data-test="fault">${faultText}</p>`}
      ${teams.length < bounds.teams && html`
        <button type="button" class="button small" data-test="add-team" onClick=${() => write({ teams: [...teams, ''] })}>${t('draft.team.add')}</button>`}
    </fieldset>`;
}
