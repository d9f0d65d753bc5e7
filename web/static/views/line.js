import { canRetryNow, REPLACED } from '../closing.js';
import { problem, t, word } from '../i18n.js';
import { html, useEffect, useState } from '../preact.js';

// Line shows a problem of the connection and a button to solve it. It shows nothing while the
// connection is fine.
export function Line({ session, connect, clock }) {
  if (session.kind === 'retrying') return html`<${Retrying} session=${session} connect=${connect} clock=${clock} />`;
  if (session.kind !== 'stopped') return null;
  const why = problem({ code: session.code, message: session.reason });
  return html`
    <div class="line" role="alert">
      <p>${word(`line.${session.code}`, t('line.stopped', { why }))}</p>
      <button type="button" class="button small" data-test="reconnect" onClick=${connect}>
        ${t(session.code === REPLACED ? 'line.4409.act' : 'line.connect')}</button>
    </div>`;
}

function Retrying({ session, connect, clock }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const n = Math.max(0, Math.ceil((session.at - clock.local()) / 1000));
  return html`
    <div class="line">
      <p>${word(`line.${session.code}`, t('line.retrying', { n }), { n })}</p>
      ${canRetryNow(session.code) && html`
        <button type="button" class="button small" data-test="reconnect" onClick=${connect}>${t('line.retry')}</button>`}
    </div>`;
}
