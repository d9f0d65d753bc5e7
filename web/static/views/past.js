import { number, problem, t, when } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';

// PastArenas lists the arenas that the player has made, and leads to their reports.
export function PastArenas({ actions }) {
  const { results } = actions;
  const [{ arenas, next, error }, setList] = useState({ arenas: null });
  const heading = useRef(null);
  const load = async (cursor) => {
    try {
      const page = await results.arenas(cursor ? { cursor } : {});
      setList((list) => ({ arenas: [...(list.arenas ?? []), ...page.arenas], next: page.next_cursor }));
    } catch (refusal) {
      setList((list) => ({ ...list, error: refusal }));
    }
  };
  useEffect(() => {
    heading.current.focus({ preventScroll: true });
    load();
  }, []);
  return html`
    <section class="stage final" data-test="past">
      <h1 class="final-headline" tabindex="-1" ref=${heading}>${t('past.title')}</h1>
      <p class="hint" role="status">${error ? problem(error) : !arenas && t('board.loading')}</p>
      ${arenas?.length === 0 && html`<p>${t('past.none')}</p>`}
      <ul class="past">${arenas?.map((arena, i) => html`<${Past} key=${arena.arena_id} arena=${arena} index=${i} results=${results} />`)}</ul>
      ${next && html`<button type="button" class="button small" data-test="more" onClick=${() => load(next)}>${t('past.more')}</button>`}
      <div class="final-buttons"><button type="button" class="button" data-test="home" onClick=${actions.home}>${t('final.home')}</button></div>
    </section>`;
}

function Past({ arena, index, results }) {
  const { arena_id: id, name, mode, state, created_at, players, match } = arena;
  const facts = [t(`mode.${mode}`), when(created_at), state === 'over' ? t('arena.players', { n: number(players) }) : t(`arena.state.${state}`)];
  const hasReport = state === 'over' && match;
  return html`
    <li class="past-arena">
      <div><h2><bdi>${name}</bdi></h2><p class="hint">${facts.join(' · ')}</p></div>
      ${hasReport && html`<button type="button" class="button small" data-test=${`report-${index}`} aria-label=${t('report.of', { name })} onClick=${() => results.open(id)}>${t('report.open')}</button>`}
      <button type="button" class="button small" data-test=${`again-${index}`} aria-label=${t('report.again.of', { name })} onClick=${() => results.again(id, { name, mode })}>${t('final.again')}</button>
    </li>`;
}
