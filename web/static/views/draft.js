import { blank, bounds, fault } from '../draft.js';
import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { filterOf } from '../preferences.js';
import { nameIn, NameField } from './name.js';
import { QuestionFilter } from './questionfilter.js';

// Draft is the screen on which a host makes an arena.
export function Draft({ state, actions }) {
  const { preferences, busy } = state;
  const [draft, setDraft] = useState(blank);
  const [wrong, setWrong] = useState(null);
  const heading = useRef(null);
  useEffect(() => heading.current.focus({ preventScroll: true }), []);
  const write = (fields) => {
    setDraft({ ...draft, ...fields });
    setWrong(null);
  };
  const make = (event) => {
    event.preventDefault();
    const found = fault(draft);
    setWrong(found);
    if (found) event.currentTarget.querySelector(`[name="${found}"]`)?.focus();
    else actions.host.make(nameIn(state), draft, filterOf(preferences));
  };
  return html`
    <section class="stage draft" data-test="draft">
      <h1 class="headline" tabindex="-1" ref=${heading}>${t('draft.title')}</h1>
      <form class="start" onSubmit=${make} autocomplete="off" novalidate>
        <${Text} name="name" draft=${draft} write=${write} maxlength=${bounds.name} />
        <${Options} name="mode" values=${['buzzer', 'survival']} draft=${draft} write=${write} />
        <${Teams} teams=${draft.teams} write=${write} />
        <div class="draft-numbers">
          <${Text} name="count" draft=${draft} write=${write} inputmode="numeric" />
          <${Text} name="seconds" draft=${draft} write=${write} inputmode="numeric" />
        </div>
        <${Options} name="pace" values=${['auto', 'host']} draft=${draft} write=${write} />
        <${QuestionFilter} preferences=${preferences} prefer=${actions.prefer} />
        <${NameField} state=${state} type=${(name) => actions.login.type(name)} />
        <p id="draft-fault" class="bad" role="alert">${wrong && t(`draft.fault.${wrong}`, bounds[wrong])}</p>
        <div class="start-buttons"><button class="button primary" data-test="make" disabled=${busy}>${t('draft.make')}</button></div>
      </form>
      <button type="button" class="quiet" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
    </section>`;
}

function Text({ name, draft, write, ...more }) {
  return html`
    <label class="question-filter-field">
      <span>${t(`draft.${name}`)}</span>
      <input class="field" name=${name} data-test=${`draft-${name}`} value=${draft[name]} aria-describedby="draft-fault" ...${more}
        onInput=${(event) => write({ [name]: event.target.value })} />
    </label>`;
}

function Options({ name, values, draft, write }) {
  return html`
    <fieldset class="options">
      <legend>${t(`draft.${name}`)}</legend>
      ${values.map((value) => html`
        <label key=${value} class="option">
          <input type="radio" name=${name} data-test=${`${name}-${value}`} checked=${draft[name] === value} onChange=${() => write({ [name]: value })} />
          <span><strong>${t(`${name}.${value}`)}</strong> <small>${t(`${name}.${value}.rules`)}</small></span>
        </label>`)}
    </fieldset>`;
}

function Teams({ teams, write }) {
  const set = (i, name) => write({ teams: teams.map((old, other) => (other === i ? name : old)) });
  return html`
    <fieldset class="options">
      <legend>${t('draft.teams')}</legend>
      <p class="hint">${t('draft.teams.hint')}</p>
      ${teams.map((name, i) => html`
        <div key=${i} class="start-name">
          <input class="field" name="teams" data-test=${`team-${i}`} value=${name} maxlength=${bounds.name} aria-label=${t('draft.team', { n: i + 1 })}
            placeholder=${t('draft.team', { n: i + 1 })} onInput=${(event) => set(i, event.target.value)} />
          <button type="button" class="button small" aria-label=${t('draft.team.remove', { n: i + 1 })}
            onClick=${() => write({ teams: teams.filter((_, other) => other !== i) })}>✕</button>
        </div>`)}
      ${teams.length < bounds.teams && html`
        <button type="button" class="button small" data-test="add-team" onClick=${() => write({ teams: [...teams, ''] })}>${t('draft.team.add')}</button>`}
    </fieldset>`;
}
