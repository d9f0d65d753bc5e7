import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../preact.js';

const MAX_TEXT = 100;

// Entry is the field of a question that is answered with a number or a text;
// locked for who may not answer, or has.
export function Entry({ round, locked, answer }) {
  const { question, mine, revealed } = round;
  const [typed, setTyped] = useState('');
  const field = useRef(null);
  useEffect(() => { if (!locked) field.current.focus({ preventScroll: true }); }, [locked]);
  const value = parsed(question.kind, typed);
  const submit = (event) => {
    event.preventDefault();
    if (!locked && value !== null) answer({ value });
  };
  const isNumber = question.kind === 'number';
  return html`
    <form class="answer entry" onSubmit=${submit} autocomplete="off">
      <label class="unseen" for="entry">${t(isNumber ? 'answer.number.label' : 'answer.text.label')}</label>
      <input id="entry" class="field" data-test="entry" ref=${field} lang=${question.lang} aria-describedby="question"
        type=${isNumber ? 'number' : 'text'} step=${isNumber ? 'any' : undefined} maxlength=${MAX_TEXT}
        spellcheck=${false} autocapitalize="off" enterkeyhint="send"
        value=${locked ? mine?.given?.value ?? typed : typed} readonly=${locked} onInput=${(event) => setTyped(event.target.value)} />
      ${!revealed && html`
        <button class="button primary" data-test="submit" aria-disabled=${String(locked || value === null)}>${t('answer.submit')}</button>`}
    </form>`;
}

function parsed(kind, typed) {
  const text = typed.trim();
  if (text === '') return null;
  if (kind === 'text') return text;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
