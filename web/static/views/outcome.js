import { number, points, seconds, t } from '../i18n.js';
import { letter } from '../keys.js';
import { html } from '../preact.js';
import { picks, resultOf } from '../scene.js';

// Outcome is a closed round in words: the right answer, what those at the two
// seats answered and what it earned, and why. An answer that came too late is
// known of the own one only.
export function Outcome({ round, seats }) {
  const { question, closed } = round;
  return html`
    <dl class="outcome">
      <div class="outcome-row key"><dt>${t('result.answer')}</dt>
        <dd data-test="answer" lang=${question.lang}>${rightText(question, closed.answer)}</dd></div>
      <${Given} side="me" seat=${seats.me} round=${round} />
      <${Given} side="them" seat=${seats.them} round=${round} />
    </dl>
    ${closed.explanation && html`<p class="explanation" lang=${question.lang}>${closed.explanation}</p>`}`;
}

function Given({ side, seat, round }) {
  const result = resultOf(round, seat?.id);
  if (!result) return null;
  const late = side === 'me' && round.mine?.state === 'late';
  return html`
    <div class=${`outcome-row ${side}`}>
      <dt>${side === 'me' ? t('duel.you') : html`<bdi>${seat.nickname}</bdi>`}</dt>
      <dd>
        <span>${late ? t('result.late', { given: givenText(round.question, round.mine.given) }) : givenText(round.question, result.given)}</span>
        ${result.elapsed_ms !== null && html`<span class="outcome-time">${seconds(result.elapsed_ms)}</span>`}
        <strong class=${result.correct ? 'good' : 'bad'}>${result.correct ? '✓' : '✗'} ${result.points !== 0 && points(result.points)}</strong>
      </dd>
    </div>`;
}

// rightText is the right answer of a question as text.
export function rightText(question, answer) {
  if (question.choices) return choicesText(question, answer);
  if (question.kind === 'number') {
    const value = figure(answer.value);
    return answer.tolerance ? t('result.tolerance', { value, n: figure(answer.tolerance) }) : value;
  }
  const others = (answer.accepted ?? []).filter((text) => text !== answer.value);
  if (others.length === 0) return answer.value;
  return html`${answer.value} <small>${t('result.accepted', { list: others.join(' · ') })}</small>`;
}

function givenText(question, given) {
  if (given === null) return t('result.nothing');
  if (question.choices) return choicesText(question, given);
  return typeof given.value === 'number' ? figure(given.value) : given.value;
}

const choicesText = (question, answer) =>
  picks(answer).map((i) => `${letter(i)} ${question.choices[i]}`).join(' · ');

// A year reads 1969, not 1,969.
const figure = (value) => number(value, { useGrouping: false, maximumFractionDigits: 12 });
