// The entry point of the players' page: it creates all parts and connects them.
//
// address.js reads the game and the first screen from the address. With
// guest=new the device secret belongs to this tab, so that two tabs are two
// players. Otherwise it belongs to the browser.
//
// A browser test may rely on these data-test names:
//   nickname       the name field on the home page
//   save-name      saves a changed name
//   play, play-bot ask for an opponent, for the bot
//   suggestion-N   a free name offered after a refusal, from 0
//   filter-lang, filter-category, filter-difficulty
//   lang-en, lang-zh  switch the page's language
//   connection     the connection's state, its kind in data-kind (session.js)
//   reconnect      connects again, or takes over from another tab
//   notice         what went wrong
//   waiting, cancel      while an opponent is sought
//   countdown      before the first question
//   question       the question's text, its index in data-question, its kind in data-kind
//   time           the seconds left (role=timer)
//   choice-N       a choice, from 0, as the server numbers them
//   entry          the field of a number or text question
//   submit         locks in what needs it: multiple, number, text
//   status         the player's own lock-in, its state in data-state (match.js)
//   opponent       the opponent's lamp, data-lit="true" once it has answered
//   own            the player's own lamp, likewise
//   score-me, score-them  the scores, unformatted in data-value; of survival, the second counts those still in
//   result         a question's result, data-outcome right, wrong, none, void or unknown (scene.js)
//   answer         the right answer in it
//   leave, leave-yes, leave-no
//   arena-code, arena-enter   the code field on the home page, and its button
//   arena-host     opens the screen that makes an arena
//   draft          that screen; draft-F (a field), fault, mode-M, preset-P, pace-P, more-settings, team-N, add-team, make in it; picked (the picked questions, with item-seconds-N, item-weight-N, item-remove-N, random)
//   gate           an arena's gate; take-team (its select), join, watch, host-again in it
//   arena-lobby    the lobby, its role in data-as; code, link, copy, players, team-ID (data-players) in it
//   start, lock, close, play-too, next (data-act wait, open, close or finish), kick-who, kick-ban, kick, screen   what a host does
//   extra-time     a host's folded part in the lobby; extra-open, extra-who, extra-percent, extra-give, extra-row (data-player, data-percent), extra-take in it
//   stage          an arena's match, data-part player, out or watching
//   team-ID        a team's score, unformatted in data-score
//   result-row     one of the best after a question, its player in data-player
//   gone           an arena that has ended for this player, data-type kicked or closed
//   final          the final standing, data-outcome won, lost or draw; of an arena also over
//   standing-N     its rows, from 0; place (data-rank), more   of many players, the own place and the rest
//   podium, review, reviewed  of a race: the first three; loads the player's answers; where they are shown
//   past-arenas    opens past, the list of a host's arenas; report-N, more in it
//   report         a report; play-again, same-questions, csv, xlsx, more in it; report-open leads to it from the end
//   settled        the ranks after the leaderboards were updated
//   again, home
//   leaderboard    the boards; kind-ID, window-ID, order-ID, around, top, prev, next in it
//   date           the day that is shown of window day, writable; day-before and day-after beside it
//   span           the days that are shown, in data-from and data-to
//   entry-row      one entry of a board, its player or team in data-player, its unformatted value in data-value
import { Account } from './account.js';
import { Arenas } from './arenas.js';
import * as address from './address.js';
import { callGame } from './api.js';
import { Boards } from './boards.js';
import { box } from './box.js';
import { Clock } from './clock.js';
import { canRetryNow } from './closing.js';
import { Contest } from './contest.js';
import { Duel } from './duel.js';
import { Login } from './login.js';
import { Host } from './host.js';
import { preferred, speak } from './i18n.js';
import { html, render } from './preact.js';
import { Preferences } from './preferences.js';
import { MessageRouter } from './messagerouter.js';
import { Results } from './results.js';
import { Session } from './session.js';
import { createStore } from './store.js';
import { App } from './views/app.js';

const { game, title, logo } = document.documentElement.dataset; // written by the server
const asked = address.read(location, game);
callGame(asked.game);
const own = box(asked.ownTab ? 'sessionStorage' : 'localStorage', asked.game);
const account = new Account(own);
const preferences = new Preferences(box('localStorage'), preferred());
const clock = new Clock();

const store = createStore({
  game: asked.game,
  look: { title, logo },
  preferences: preferences.read(),
  player: null,
  typed: null,
  session: { kind: 'idle' },
  queue: null,
  questionFilter: null,
  arenaScreen: null,
  arena: null,
  match: null,
  notice: null,
  busy: false,
});

const request = (type, data) => session.request(type, data);
const login = new Login({ store, account, connect: () => session.connect() });
const contest = new Contest({ store, request });
const duel = new Duel({ store, login, contest, request });
const arenas = new Arenas({ store, login, contest, request, box: own });
const results = new Results({ store, account, contest, box: own });
const host = new Host({ store, account, login, arenas, results, request, box: own });
const boards = new Boards({ request });
const router = new MessageRouter({ store, login, contest, duel, arenas, boards });
const session = new Session({
  url: Object.assign(new URL('/v1/ws', location.href), { protocol: location.protocol.replace('http', 'ws'), search: '' }).href,
  clock,
  token: (renew) => account.token(renew),
  resume: () => contest.resume(),
  onStatus: (status) => router.connection(status),
  onMessage: (message) => router.receive(message),
});

const actions = {
  arenas,
  boards,
  contest,
  duel,
  login,
  host,
  results,
  connect: () => session.connect(),
  prefer: (fields) => store.patch({ preferences: preferences.write(fields) }),
  home() {
    contest.forget();
    store.patch({ arenaScreen: null, arena: null, notice: null });
  },
};

const page = document.getElementById('page');
function draw(state) {
  speak(state.preferences.page, state.look.title);
  document.documentElement.classList.toggle('projector', state.arena?.as === 'spectator');
  render(html`<${App} state=${state} actions=${actions} clock=${clock} />`, page);
}

function locate({ arena, arenaScreen }) {
  const place = arena?.ended ? null : arena ?? arenaScreen;
  const href = address.showing(location.href, asked.game, place?.code);
  if (href !== location.href) history.replaceState(null, '', href);
}

page.replaceChildren();
store.subscribe(draw);
draw(store.get());
addEventListener('online', () => {
  const { kind, code } = store.get().session;
  if (kind === 'retrying' && canRetryNow(code)) session.connect();
});
// A suspended page would keep its connection, and its player would look present.
addEventListener('pagehide', () => session.hangUp());
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && !['idle', 'stopped'].includes(store.get().session.kind)) session.connect();
});
arenas.restore(asked);
store.subscribe(locate);
if (account.known) session.connect();
