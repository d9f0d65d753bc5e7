import { say } from '../announce.js';
import { problem, seconds, t, word } from '../i18n.js';
import { html, useEffect, useRef } from '../preact.js';
import { closesAt, takesAnswer } from '../scene.js';
import { Choices } from './choices.js';
import { Entry } from './entry.js';
import { useReached } from './time.js';

// After CLOSING_MS without a result, the question stays open for players with extra time.
const CLOSING_MS = 600;

// QuestionView shows a question from its opening to its result. Its children are the result.
// part is `player` or, for people who cannot answer, `out` or `watching`. answer(given)
// submits an answer, from the end of the time to read.
export function QuestionView({ round, seats, part = 'player', takesFocus = true, shortcuts, clock, answer, children }) {
  const { question } = round;
  const isReading = useReading(round, clock, part);
  const waits = useReached(clock, closesAt(round) + CLOSING_MS) && !round.revealed;
  const heading = useRef(null);
  useEffect(() => {
    scrollTo(0, 0);
    if (takesFocus && (question.choices || isReading || part !== 'player')) heading.current.focus({ preventScroll: true });
  }, []);
  const Form = question.choices ? Choices : Entry;
  const hasForm = question.choices || part === 'player';
  return html`
    <article class="question">
      <p class="question-about">${t('duel.progress', { n: question.question + 1, of: question.of })}
        <span> · ${word(`category.${question.category}`, question.category)} · ${word(`difficulty.${question.difficulty}`, question.difficulty)}</span> <${Weight} points=${question.points} /></p>
      <h1 id="question" class="question-text" tabindex="-1" ref=${heading} lang=${question.lang} aria-describedby="question-weight"
        data-test="question" data-question=${question.question} data-kind=${question.kind}>${question.text}</h1>
      <${Media} media=${question.media} />
      ${hasForm && html`<${Form} round=${round} seats=${seats} locked=${part !== 'player' || isReading || waits || !takesAnswer(round)} shortcuts=${shortcuts} answer=${answer} />`}
      ${round.closed ? children : html`<${OwnState} round=${round} them=${seats.them} part=${part} isReading=${isReading} waits=${waits} />`}
    </article>`;
}

// Weight says that a question counts double or not at all.
function Weight({ points = 1 }) {
  return html`<span id="question-weight">${points !== 1 && html`<strong class="tag weight" data-test="weight" data-points=${points}>${t(`question.points.${points}`)}</strong>`}</span>`;
}

// useReading says whether a player must still read before the answers are open, and announces
// the end of that.
function useReading({ question, revealed, closed }, clock, part) {
  const hasRead = useReached(clock, question.reads_until ?? 0);
  const isReading = Boolean(question.reads_until) && !hasRead && !revealed && !closed;
  const wasReading = useRef(false);
  useEffect(() => {
    if (part === 'player' && isReading) say(t('answer.read'));
    if (part === 'player' && wasReading.current && !revealed) say(t('answer.open'));
    wasReading.current = isReading;
  }, [isReading]);
  return isReading;
}

// Media of another site is linked, not loaded: the page speaks to its own host only.
function Media({ media }) {
  if (!media) return null;
  const url = new URL(media, location.href);
  if (url.origin === location.origin) return html`<img class="question-media" src=${url.href} alt="" />`;
  if (!['http:', 'https:'].includes(url.protocol)) return null;
  return html`<p><a href=${url.href} target="_blank" rel="noopener noreferrer">${t('duel.media')}</a></p>`;
}

function OwnState({ round, them, part, isReading, waits }) {
  const isOver = waits && !round.mine;
  const text = isOver ? t('answer.wait') : part === 'player' ? ownText(round, isReading) : t(`arena.part.${part}`);
  const seen = Boolean(round.seen[them?.id]);
  useEffect(() => { if (round.mine || isOver) say(text); }, [text]);
  useEffect(() => { if (seen) say(t('answer.seen')); }, [seen]);
  useEffect(() => { if (round.extended) say(t('time.extended')); }, [round.extended]);
  return html`
    <div class="own">
      <p class="own-state" data-test="status" data-state=${round.mine?.state ?? (isOver ? 'waiting' : isReading ? 'reading' : 'open')}>${text}</p>
      ${seen && html`<p class="own-seen">${t('answer.seen')}</p>`}
      ${round.extended && html`<p>${t('time.extended')}</p>`}
    </div>`;
}

function ownText({ question, revealed, mine }, isReading) {
  if (mine?.state === 'held') return t('answer.held', { time: seconds(mine.elapsed_ms) });
  if (mine?.state === 'refused') return refusal(mine.error);
  if (mine) return t(`answer.${mine.state}`);
  if (revealed) return t('result.closed');
  if (isReading) return t('answer.read');
  const hints = { multiple: 'answer.choose.many', number: 'answer.number', text: 'answer.text' };
  return t(hints[question.kind] ?? 'answer.choose');
}

// A question that is not open to an answer for a while is a team that is shut out.
function refusal(error) {
  const isTeams = error.code === 'question_not_open' && error.retry_after_ms;
  return isTeams ? t('answer.shut', { time: seconds(error.retry_after_ms) }) : t('answer.refused', { why: problem(error) });
}
