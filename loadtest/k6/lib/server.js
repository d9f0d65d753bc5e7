// Checks of the metrics that the server reports to operators. OPS is the address of these
// metrics.

import http from 'k6/http';
import { sleep } from 'k6';
import { game, ops } from './env.js';
import { holds } from './checks.js';
import { body } from './faults.js';

// metrics reads all metrics. It returns a function that sums those with a name and labels.
export function metrics() {
  const page = 'GET metrics';
  const text = body(page, http.get(`${ops}/metrics`, { tags: { name: page } }).body);
  return (name, label = '') => {
    let sum = 0;
    for (const line of text.split('\n')) {
      if (line.startsWith(name) && '{ '.includes(line[name.length]) && line.includes(label)) sum += Number(line.slice(line.lastIndexOf(' ')));
    }
    return sum;
  };
}

// checkBehaviourTotals compares the counts of the behaviour queue with each other. All
// counts are from the same instant, so the check is valid at any time.
export function checkBehaviourTotals() {
  if (!ops) return;
  const of = metrics();
  const count = (what) => of(`laststand_behaviours_${what}`, `game="${game}"`);
  const offered = count('offered_total');
  const parts = ['sent_total', 'dropped_total', 'queued', 'in_flight'].map((what) => [what, count(what)]);
  const sum = parts.reduce((all, [, n]) => all + n, 0);
  holds('totals', offered === sum, () => `offered ${offered}, but ${JSON.stringify(parts)}`);
}

const allowed = Number(__ENV.GROWTH || 1.25); // factor

// watchGrowth samples the server for so many seconds. It compares the lowest value of the
// last quarter with the highest of the second quarter. The first quarter is warm-up.
export function watchGrowth(seconds) {
  if (!ops) return;
  const early = {};
  const late = {};
  const every = Math.max(seconds / 100, 1);
  for (let at = 0; at < seconds; at += every) {
    sleep(every);
    const of = metrics();
    for (const what of ['go_goroutines', 'process_resident_memory_bytes', 'go_gc_heap_live_bytes']) {
      const now = of(what);
      if (at > seconds / 4 && at < seconds / 2) early[what] = Math.max(early[what] || 0, now);
      if (at > (seconds * 3) / 4) late[what] = Math.min(late[what] || Infinity, now);
    }
  }
  for (const what of Object.keys(late)) {
    holds('flat', late[what] <= allowed * early[what], () => `${what} was ${early[what]} at most in the second quarter, and is ${late[what]} at least in the last`);
  }
}
