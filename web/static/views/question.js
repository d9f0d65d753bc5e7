import { say } from '../announce.js';
import { problem, seconds, t, word } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';
import { current, mark, seats } from '../scene.js';
import { Choices } from './choices.js';
import { Entry } from './entry.js';
import { Verdict } from './verdict.js';

// QuestionView is the newest question, from its opening to its result.
// answer(given) hands in {choice}, {choices} or {value}.
export function QuestionView({ match, player, shortcuts, answer }) {
  const round = match.rounds[current(match)];
  const { question } = round;
  const heading = useRef(null);
  useEffect(() => {
    scrollTo(0, 0);
    if (question.choices) heading.current.focus({ preventScroll: true });
  }, []);
  const both = seats(match, player.id);
  const Form = question.choices ? Choices : Entry;
  return html`
    <article class="question">
      <p class="question-about">${t('duel.progress', { n: question.question + 1, of: question.of })}
        <span> · ${word(`category.${question.category}`, question.category)} · ${word(`difficulty.${question.difficulty}`, question.difficulty)}</span></p>
      <h1 id="question" class="question-text" tabindex="-1" ref=${heading} lang=${question.lang}
        data-test="question" data-question=${question.question} data-kind=${question.kind}>${question.text}</h1>
      <${Media} media=${question.media} />
      <${Form} round=${round} seats=${both} shortcuts=${shortcuts} answer=${answer} />
      ${round.closed
        ? html`<${Verdict} round=${round} seats=${both} outcome=${mark(match, question.question, player.id)} />`
        : html`<${OwnState} round=${round} them=${both.them} />`}
    </article>`;
}

// Media of another site is linked, not loaded: the page speaks to its own host only.
function Media({ media }) {
  if (!media) return null;
  const url = new URL(media, location.href);
  if (url.origin === location.origin) return html`<img class="question-media" src=${url.href} alt="" />`;
  if (!['http:', 'https:'].includes(url.protocol)) return null;
  return html`<p><a href=${url.href} target="_blank" rel="noopener noreferrer">${t('duel.media')}</a></p>`;
}

function OwnState({ round, them }) {
  const text = ownText(round);
  const seen = Boolean(round.seen[them?.id]);
  useEffect(() => { if (round.mine) say(text); }, [text]);
  useEffect(() => { if (seen) say(t('answer.seen')); }, [seen]);
  return html`
    <div class="own">
      <p class="own-state" data-test="status" data-state=${round.mine?.state ?? 'open'}>${text}</p>
      ${seen && html`<p class="own-seen">${t('answer.seen')}</p>`}
    </div>`;
}

function ownText({ question, mine }) {
  if (mine?.state === 'held') return t('answer.held', { time: seconds(mine.elapsed_ms) });
  if (mine?.state === 'refused') return t('answer.refused', { why: problem(mine.error) });
  if (mine) return t(`answer.${mine.state}`);
  const hints = { multiple: 'answer.choose.many', number: 'answer.number', text: 'answer.text' };
  return t(hints[question.kind] ?? 'answer.choose');
}
