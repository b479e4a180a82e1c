// Figures of the server over the last hour.
import { chart } from './chart.js';
import { choice, h, report } from './dom.js';
import { bytes, count, span } from './format.js';
import { plain } from './json.js';
import { Poll } from './poll.js';

const interval = 2000;
const kept = 3_600_000;
/** After so long without figures, the line is broken. */
const gap = 30_000;
const perSecond = (value) => `${count(value)}/s`;
const percent = (value) => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
/** Name, how it is written, and its value, from the present figures or from the difference to those before. */
const figures = [
  ['Operations', perSecond, (now, before, seconds) => rate(now.requests - before.requests, seconds)],
  ['Commits', perSecond, (now, before, seconds) => rate(now.operations - before.operations, seconds)],
  ['Commit time, median', milliseconds, (now, before) => quantile(now.commits, before.commits, 0.5)],
  ['Commit time, 99 %', milliseconds, (now, before) => quantile(now.commits, before.commits, 0.99)],
  ['Deliveries', perSecond, (now, before, seconds) => rate(now.pushes - before.pushes, seconds)],
  ['Waiting for the disk', count, (now) => now.waiting],
  ['Requests held', count, (now) => now.held],
  ['Connections', count, (now) => now.connections], ['Sessions', count, (now) => now.sessions + now.eventStreams],
  ['Listeners', count, (now) => now.listeners], ['Memory', bytes, (now) => now.memory],
  ['CPU', percent, (now, before, seconds) => rate(now.cpu - before.cpu, seconds, 100)],
  ['Requests in flight', bytes, (now) => now.requestBytes], ['Rows in memory', bytes, (now) => now.resident],
  ['Changed rows', bytes, (now) => now.changed],
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

/** Sums over the databases. One that opens brings its old operations with it, which were not done just now. */
export class Totals {
  known = new Map();
  requests = 0;
  operations = 0;

  of(stats) {
    const sum = { waiting: 0, held: 0, listeners: 0, resident: 0, changed: 0 };
    for (const each of stats.databases) {
      const before = this.known.get(each.name) ?? each;
      this.requests += Math.max(0, each.requests - before.requests);
      this.operations += Math.max(0, each.sequence - before.sequence);
      sum.waiting += each.sequence - each.durable;
      for (const name of ['held', 'listeners', 'resident', 'changed']) sum[name] += each[name];
    }
    this.known = new Map(stats.databases.map((each) => [each.name, each]));
    return { ...stats, ...sum, requests: this.requests, operations: this.operations };
  }
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
    if (!this.last || Date.now() - this.last.at > gap) await this.recall();
    const now = this.totals.of(plain(await this.app.connection.admin('stats')));
    this.add({ ...now, at: Date.now() });
    this.status.textContent = `Up ${span(now.uptime)}, ${now.loops} event loops, ${now.databases.length} open databases`;
    if (this.isShown) this.draw();
  }

  /** The server keeps the last hour, also while nobody looks. Its clock may differ from this one. */
  async recall() {
    const { samples, bounds } = plain(await this.app.connection.admin('recent'));
    const ahead = samples.length ? Math.max(0, samples.at(-1).at - Date.now()) : 0;
    for (const list of this.samples) list.length = 0;
    this.last = null;
    for (const sample of samples) this.add({ ...sample, at: sample.at - ahead, commits: { counts: sample.commits, bounds } });
    this.last = null;
    this.totals = new Totals();
  }

  add(now) {
    const before = this.last;
    this.last = now;
    if (!before) return;
    const seconds = (now.at - before.at) / 1000;
    const isGap = seconds * 1000 > gap || now.uptime < before.uptime;
    figures.forEach(([, , value], index) => {
      const list = this.samples[index];
      list.push([now.at, isGap ? null : value(now, before, seconds)]);
      while (list.length && list[0][0] < now.at - kept) list.shift();
    });
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
