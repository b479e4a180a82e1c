// Figures of the server over the last hour.
import { chart } from './chart.js';
import { choice, h, report } from './dom.js';
import { bytes, count, span } from './format.js';
import { plain } from './json.js';
import { Poll } from './poll.js';

const interval = 2000;
const kept = 3_600_000;
const perSecond = (value) => `${count(value)}/s`;
const percent = (value) => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
const sum = (stats, name) => stats.databases.reduce((total, database) => total + database[name], 0);

/** Name, how it is written, and its value, from the present figures or from the difference to those before. */
const figures = [
  ['Operations', perSecond, (now, before, seconds) => rate(sum(now, 'requests') - sum(before, 'requests'), seconds)],
  ['Commits', perSecond, (now, before, seconds) => rate(sum(now, 'sequence') - sum(before, 'sequence'), seconds)],
  ['Commit time, median', milliseconds, (now, before) => quantile(now.commits, before.commits, 0.5)],
  ['Commit time, 99 %', milliseconds, (now, before) => quantile(now.commits, before.commits, 0.99)],
  ['Deliveries', perSecond, (now, before, seconds) => rate(now.pushes - before.pushes, seconds)],
  ['Waiting for the disk', count, (now) => sum(now, 'sequence') - sum(now, 'durable')],
  ['Requests held', count, (now) => sum(now, 'held')],
  ['Connections', count, (now) => now.connections], ['Sessions', count, (now) => now.sessions + now.eventStreams],
  ['Listeners', count, (now) => sum(now, 'listeners')], ['Memory', bytes, (now) => now.memory],
  ['CPU', percent, (now, before, seconds) => rate(now.cpu - before.cpu, seconds, 100)],
  ['Requests in flight', bytes, (now) => now.requestBytes], ['Rows in memory', bytes, (now) => sum(now, 'resident')],
  ['Changed rows', bytes, (now) => sum(now, 'changed')],
];

/** A figure that has become smaller was begun anew: a gap. */
const rate = (difference, seconds, factor = 1) => (difference < 0 ? null : (difference / seconds) * factor);

/** What was added between two histograms of seconds, at a share of it, in milliseconds; null where nothing was. */
export function quantile(now, before, share) {
  const added = now.counts.map((value, index) => value - before.counts[index]);
  const total = added.reduce((all, value) => all + value, 0);
  if (total <= 0) return null;
  let below = 0;
  for (let index = 0; index < added.length; index += 1) {
    if (below + added[index] >= share * total) {
      const low = index === 0 ? 0 : now.bounds[index - 1];
      const high = now.bounds[index] ?? low;
      return 1000 * (low + (high - low) * ((share * total - below) / added[index]));
    }
    below += added[index];
  }
  return null;
}

export class MetricsPage {
  title = 'Metrics';

  constructor(app) {
    this.app = app;
    this.range = choice([['5', '5 minutes'], ['15', '15 minutes'], ['60', '1 hour']], '5', { 'aria-label': 'Time', onchange: () => this.draw() });
    this.charts = figures.map(([name, format]) => chart(name, format));
    this.samples = figures.map(() => []);
    this.status = h('p.status', { role: 'status' });
    this.element = h('section.page', { 'aria-labelledby': 'metrics-title' }, h('h1', { id: 'metrics-title' }, 'Metrics'),
      h('div.tools', {}, this.range), this.status, h('div.charts', {}, this.charts.map((each) => each.element)));
    this.poll = new Poll(interval, () => this.load(), report);
    // Figures go on while another screen is shown.
    this.poll.start();
  }

  async load() {
    const at = Date.now();
    const now = plain(await this.app.connection.admin('stats'));
    const before = this.last;
    this.last = { at, figures: now };
    if (!before) return;
    const seconds = (at - before.at) / 1000;
    const isGap = seconds > 30 || now.uptime < before.figures.uptime;
    figures.forEach(([, , value], index) => {
      const list = this.samples[index];
      list.push([at, isGap ? null : value(now, before.figures, seconds)]);
      while (list.length && list[0][0] < at - kept) list.shift();
    });
    this.status.textContent = `Up ${span(now.uptime)}, ${now.loops} event loops, ${now.databases.length} open databases`;
    if (this.isShown) this.draw();
  }

  draw() {
    const end = Date.now();
    const start = end - Number(this.range.value) * 60_000;
    this.charts.forEach((each, index) => each.show(this.samples[index], start, end));
  }

  show() { this.isShown = true; this.draw(); }
  hide() { this.isShown = false; }
  /** The database, and with it this screen, is left. */
  close() { this.poll.stop(); }
}
