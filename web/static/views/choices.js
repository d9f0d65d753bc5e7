import { t } from '../i18n.js';
import { choiceOf, letter } from '../keys.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { picks, resultOf } from '../scene.js';
import { Shape } from './shapes.js';
import { Share } from './share.js';

// Choices are the answers to pick from: one, at once, or several and then locked
// in; locked for who may not answer, or has.
export function Choices({ round, seats, locked, shortcuts, answer }) {
  const { question, mine, revealed } = round;
  const many = question.kind === 'multiple';
  const chosen = useRef([]); // keys may come faster than the page is drawn
  const [, redraw] = useState(chosen.current);
  const submit = () => !locked && chosen.current.length > 0 && answer({ choices: chosen.current });
  const pick = (i) => {
    if (locked) return;
    if (!many) return answer({ choice: i });
    redraw(chosen.current = toggled(chosen.current, i));
  };
  useShortcuts({ active: shortcuts && !locked, count: question.choices.length, pick, submit });
  const shown = mine && mine.state !== 'refused' ? picks(mine.given) : chosen.current;
  const tile = (text, i) => html`
    <${Tile} key=${i} index=${i} text=${text} many=${many} picked=${shown.includes(i)} locked=${locked}
      pick=${pick} round=${round} seats=${seats} shortcuts=${shortcuts} />`;
  return html`
    <form class="answer" aria-labelledby="question" onSubmit=${(event) => { event.preventDefault(); submit(); }}>
      <div class="tiles" role="group" aria-labelledby="question" lang=${question.lang}>${question.choices.map(tile)}</div>
      ${many && !revealed && html`
        <button class="button primary" data-test="submit" aria-disabled=${String(locked || chosen.current.length === 0)}>${t('answer.submit')}</button>`}
    </form>`;
}

function Tile({ index, text, many, picked, locked, pick, round, seats, shortcuts }) {
  const right = round.closed && picks(round.closed.answer).includes(index);
  const missed = picked && round.mine?.state === 'wrong' && 'missed';
  const looks = ['tile', picked && 'picked', locked && 'locked', missed, round.closed && (right ? 'right' : 'wrong')].filter(Boolean).join(' ');
  const name = html`
    <${Shape} index=${index} /><span class="unseen">${letter(index)}: </span><span class="tile-text">${text}</span>
    <${Tags} index=${index} right=${right} round=${round} seats=${seats} />
    <${Share} n=${round.closed?.counts?.[index]} of=${round.closed?.answered} />`;
  const test = `choice-${index}`;
  const keys = shortcuts ? `${index + 1} ${letter(index)}` : undefined;
  if (many) return html`
    <label class=${looks}>
      <input type="checkbox" data-test=${test} checked=${picked} aria-disabled=${String(locked)} aria-keyshortcuts=${keys}
        onClick=${(event) => { if (locked) event.preventDefault(); }} onChange=${() => pick(index)} />${name}</label>`;
  return html`
    <button type="button" class=${looks} data-test=${test} aria-pressed=${String(picked)} aria-disabled=${String(locked)}
      aria-keyshortcuts=${keys} onClick=${() => pick(index)}>${name}</button>`;
}

// Tags repeat in words what the reveal shows in colour: the right answer, and who chose it.
function Tags({ index, right, round, seats }) {
  if (!round.closed) return null;
  const chose = (seat) => seat && picks(resultOf(round, seat.id)?.given).includes(index);
  return html`
    <span class="tags">
      ${right && html`<span class="tag right">✓ <span class="tag-word">${t('result.is.right')}</span></span>`}
      ${chose(seats.me) && html`<span class="tag me">${t('duel.you')}</span>`}
      ${chose(seats.them) && html`<bdi class="tag them">${seats.them.nickname}</bdi>`}
    </span>`;
}

function useShortcuts({ active, count, pick, submit }) {
  useEffect(() => {
    if (!active) return undefined;
    const onKey = (event) => {
      const index = choiceOf(event);
      if (index >= 0 && index < count) pick(index);
      else if (event.key === 'Enter' && !event.target.closest('button, a, input, select')) submit();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

const toggled = (chosen, i) =>
  (chosen.includes(i) ? chosen.filter((other) => other !== i) : [...chosen, i].sort((a, b) => a - b));
