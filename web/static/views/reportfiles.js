import { problem, t } from '../i18n.js';
import { html, useState } from '../preact.js';

// Files saves the report with all players. The browser asks with the player's token, so it is no link.
export function Files({ file, name }) {
  const [{ busy, error }, setState] = useState({ busy: false, error: null });
  const save = async (format) => {
    if (busy) return;
    setState({ busy: true, error: null });
    try {
      const url = URL.createObjectURL(await file(format));
      Object.assign(document.createElement('a'), { href: url, download: `${name || 'report'}.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      setState({ busy: false, error: null });
    } catch (refusal) {
      setState({ busy: false, error: refusal });
    }
  };
  return html`
    <h2>${t('report.files')}</h2>
    <p class="hint">${t('report.files.hint')}</p>
    <div class="report-files">${['csv', 'xlsx'].map((format) => html`
      <button type="button" key=${format} class="button small" data-test=${format} aria-disabled=${String(busy)} onClick=${() => save(format)}>${format.toUpperCase()}</button>`)}</div>
    <p class=${error ? 'bad' : 'hint'} role="status">${busy ? t('report.loading') : error && problem(error)}</p>`;
}
