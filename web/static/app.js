// The roof of the players' page: it builds what there is and ties it together.
//
// The address decides whose page it is: /?guest=new keeps a device secret of
// its own in this tab, so that two tabs are two players; else the browser's.
//
// A browser test may rely on these data-test names:
//   nickname       the name field on the home page
//   save-name      saves a changed name
//   play, play-bot ask for an opponent, for the bot
//   suggestion-N   a free name offered after a refusal, from 0
//   wish-lang, wish-category, wish-difficulty
//   lang-en, lang-zh  switch the page's language
//   connection     the line's state, its kind in data-kind (session.js)
//   reconnect      connects again, or takes over from another tab
//   notice         what went wrong
//   waiting, cancel      while an opponent is sought
//   countdown      before the first question
//   question       the question's text, its index in data-question, its kind in data-kind
//   time           the seconds left (role=timer)
//   choice-N       a choice, from 0, as the server numbers them
//   entry          the field of a number or text question
//   submit         locks in what needs it: multiple, number, text
//   status         the player's own lock-in, its state in data-state
//   opponent       the opponent's lamp, data-lit="true" once it has answered
//   own            the player's own lamp, likewise
//   score-me, score-them  the scores, unformatted in data-value
//   result         a question's result, data-outcome right, wrong or none
//   answer         the right answer in it
//   leave, leave-yes, leave-no
//   final          the final standing, data-outcome won, lost or draw
//   standing-N     its rows, from 0
//   settled        the ranks after the books were written
//   again, home
//   leaderboard    the boards; window-ID, order-ID, around, prev, next in it
//   entry-row      one entry of a board, its player in data-player
import { Account } from './account.js';
import { box } from './box.js';
import { Clock } from './clock.js';
import { mayHurry } from './closing.js';
import { Duel } from './duel.js';
import { preferred, speak } from './i18n.js';
import { html, render } from './preact.js';
import { Preferences } from './preferences.js';
import { Session } from './session.js';
import { createStore } from './store.js';
import { App } from './views/app.js';

const ownTab = new URLSearchParams(location.search).get('guest') === 'new';
const account = new Account(box(ownTab ? 'sessionStorage' : 'localStorage'));
const preferences = new Preferences(box('localStorage'), preferred());
const clock = new Clock();

const store = createStore({
  preferences: preferences.read(),
  player: null,
  session: { kind: 'idle' },
  queue: null,
  wishes: null,
  match: null,
  notice: null,
  busy: false,
});

const duel = new Duel({ store, account });
const session = new Session({
  url: Object.assign(new URL('/v1/ws', location.href), { protocol: location.protocol.replace('http', 'ws'), search: '' }).href,
  clock,
  token: (renew) => account.token(renew),
  resume: () => duel.resume(),
  onStatus: (status) => duel.connection(status),
  onMessage: (message) => duel.receive(message),
});
duel.attach(session);

const actions = {
  duel,
  connect: () => session.connect(),
  prefer: (fields) => store.patch({ preferences: preferences.write(fields) }),
};

const page = document.getElementById('page');
function draw(state) {
  speak(state.preferences.page);
  render(html`<${App} state=${state} actions=${actions} clock=${clock} />`, page);
}

page.replaceChildren();
store.subscribe(draw);
draw(store.get());
addEventListener('online', () => {
  const { kind, code } = store.get().session;
  if (kind === 'retrying' && mayHurry(code)) session.connect();
});
if (account.known) session.connect();
