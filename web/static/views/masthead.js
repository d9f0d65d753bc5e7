import { languages, t, tag } from '../i18n.js';
import { html } from '../preact.js';
import { Emblem } from './shapes.js';

// Masthead is the head of every screen: the game's logo and title, the line's state, the
// language.
export function Masthead({ look, preferences, prefer, session }) {
  return html`
    <a class="skip" href="#game">${t('skip')}</a>
    <header class="masthead">
      <p class="wordmark" data-test="title">${look.logo ? html`<img class="logo" src=${look.logo} alt="" />` : html`<${Emblem} />`}<bdi>${look.title}</bdi></p>
      <p class="line-state" data-test="connection" data-kind=${session.kind}>
        <span class="line-dot" aria-hidden="true"></span>
        ${t(session.kind === 'online' ? 'line.online' : session.kind === 'connecting' ? 'line.connecting' : 'line.idle')}
      </p>
      <div class="toggles" role="group" aria-label=${t('language')}>
        ${languages.map((lang) => html`
          <button type="button" class="toggle" lang=${tag(lang)} aria-pressed=${String(preferences.page === lang)}
            data-test=${`lang-${lang}`} onClick=${() => prefer({ page: lang })}>${t(`lang.${lang}`)}</button>`)}
      </div>
    </header>`;
}
