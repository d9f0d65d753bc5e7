// The one place that names the versions of the vendored libraries.
import { h, render } from './vendor/preact-10.29.8.js';
import htm from './vendor/htm-3.1.1.js';

export const html = htm.bind(h);
export { render };
export { useEffect, useRef, useState } from './vendor/preact-hooks-10.29.8.js';
