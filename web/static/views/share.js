import { number, t } from '../i18n.js';
import { html } from '../preact.js';

// Share draws how many of some a number is, as a bar and as text. what says what they did.
export function Share({ n, of, what = t('result.chose') }) {
  if (n === undefined) return null;
  const share = of > 0 ? n / of : 0;
  return html`
    <span class="share" data-test="share" data-n=${n}>
      <span class="share-bar" aria-hidden="true"><span style=${{ width: `${100 * share}%` }}></span></span>
      <span class="share-n">${number(n)} <small>${number(share, { style: 'percent' })}</small><span class="unseen"> ${what}</span></span>
    </span>`;
}
