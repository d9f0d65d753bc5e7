import { number, problem, seconds, t, when } from '../i18n.js';
import { letter } from '../keys.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { hardest, mayVoid, settingsOf } from '../report.js';
import { picks } from '../scene.js';
import { rightText } from './outcome.js';
import { Files } from './reportfiles.js';
import { Share } from './share.js';
import { Winners } from './winners.js';

// Report shows how an arena went: its podium, its questions as bars, and all its players.
export function Report({ state, actions }) {
  const { results } = actions;
  const { id } = state.arenaScreen;
  const [{ report, next, error }, setShown] = useState({});
  const heading = useRef(null);
  const load = async (query) => {
    try {
      const page = await results.report(id, query);
      setShown((shown) => ({ report: { ...page, players: [...(shown.report?.players ?? []), ...page.players] }, next: page.next_cursor }));
    } catch (refusal) {
      setShown((shown) => ({ ...shown, error: refusal }));
    }
  };
  const makeVoid = async (question) => {
    try {
      const page = await results.makeVoid(id, question);
      setShown({ report: page, next: page.next_cursor });
      heading.current.focus({ preventScroll: true });
    } catch (refusal) {
      setShown((shown) => ({ ...shown, error: refusal }));
    }
  };
  useEffect(() => {
    heading.current.focus({ preventScroll: true });
    load();
  }, []);
  return html`
    <section class="stage final report" data-test=${report ? 'report' : undefined}>
      <p class="arena-kind">${t('report.title')}</p>
      <h1 class="final-headline" tabindex="-1" ref=${heading}><bdi>${report?.name ?? t('report.title')}</bdi></h1>
      <p class="hint" role="status">${error ? problem(error) : report ? `${t(`mode.${report.mode}`)} · ${when(report.started_at)}` : t('report.loading')}</p>
      ${report && html`
        <${Winners} standings=${report.players} player=${state.player} />
        <${Hardest} questions=${report.questions} />
        <${Questions} questions=${report.questions} makeVoid=${mayVoid(report, Date.now()) && makeVoid} />
        <${Players} players=${report.players} />
        ${next && html`<button type="button" class="button small" data-test="more" onClick=${() => load({ cursor: next })}>${t('arena.more')}</button>`}
        <${Files} file=${(format) => results.file(id, format)} name=${report.name} />`}
      <div class="final-buttons">
        ${report && html`<button type="button" class="button primary" data-test="play-again" onClick=${() => results.again(id, settingsOf(report))}>${t('report.again')}</button>`}
        ${report?.questions.some((question) => !question.void) && html`<button type="button" class="button" data-test="same-questions" onClick=${() => results.sameQuestions(id, report)}>${t('report.same')}</button>`}
        <button type="button" class="button" data-test="past-arenas" onClick=${() => results.past()}>${t('past.title')}</button>
        <button type="button" class="button" data-test="home" onClick=${actions.home}>${t('final.home')}</button>
      </div>
    </section>`;
}

function Hardest({ questions }) {
  const few = hardest(questions);
  if (few.length === 0) return null;
  return html`
    <h2>${t('report.hardest')}</h2>
    <ol class="hardest" data-test="hardest">${few.map(({ question, text, facility }) => html`
      <li key=${question}><strong>${number(facility, { style: 'percent' })}</strong> <span>${text}</span></li>`)}</ol>`;
}

function Questions({ questions, makeVoid }) {
  return html`
    <h2>${t('report.questions')}</h2>
    <p class="hint">${t('report.questions.hint')}</p>
    <ol class="report-questions">${questions.map((question) => html`<${Question} key=${question.question} question=${question} makeVoid=${makeVoid} />`)}</ol>`;
}

function Question({ question, makeVoid }) {
  const { question: index, text, choices, counts, answered, right, mean_ms, answer } = question;
  return html`
    <li data-test=${`report-question-${index}`} data-right=${right}>
      <details>
        <summary>
          <span class="report-text">${number(index + 1)}. ${text} ${question.void && html`<span class="tag" data-test="void">${t('mark.void')}</span>`}</span>
          <${Share} n=${right} of=${answered} what=${t('report.right', { of: number(answered) })} />
        </summary>
        <p class="hint">${t('result.answer')}: <strong>${rightText(question, answer)}</strong> · ${t('arena.counts', { answered: number(answered), right: number(right) })} · ${t('report.mean', { time: seconds(mean_ms) })}</p>
        ${choices && counts && html`
          <ul class="frequent">${choices.map((choice, i) => html`
            <li key=${i}><span class="frequent-value">${letter(i)} ${choice} ${picks(answer).includes(i) && html`<span class="tag right">✓ ${t('result.is.right')}</span>`}</span> <${Share} n=${counts[i]} of=${answered} /></li>`)}</ul>`}
        ${makeVoid && !question.void && html`<${MakeVoid} question=${index} makeVoid=${makeVoid} />`}
      </details>
    </li>`;
}

// MakeVoid is the host's button. It asks once more, because a void question stays void.
function MakeVoid({ question, makeVoid }) {
  const [asked, setAsked] = useState(false);
  return html`
    <p class="hint" role="status">${asked && t('report.void.hint')}</p>
    <button type="button" class="button small" data-test=${`make-void-${question}`} onClick=${() => (asked ? makeVoid(question) : setAsked(true))}>
      ${asked ? t('report.void.sure') : t('report.void')}</button>`;
}

function Players({ players }) {
  return html`
    <h2>${t('report.players')}</h2>
    <table class="board-table standings">
      <thead><tr><th scope="col">${t('board.rank')}</th><th scope="col">${t('board.player')}</th><th scope="col">${t('final.correct')}</th>
        <th scope="col">${t('final.time')}</th><th scope="col">${t('final.score')}</th></tr></thead>
      <tbody>${players.map(({ player, nickname, rank, correct, answers, time_ms, score }) => html`
        <tr key=${player}>
          <td>${number(rank)}</td><th scope="row"><bdi>${nickname || t('report.erased')}</bdi></th><td>${correct}/${answers.length}</td><td>${seconds(time_ms)}</td><td>${number(score)}</td>
        </tr>`)}</tbody>
    </table>`;
}
