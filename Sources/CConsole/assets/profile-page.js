// What is asked of the database, as it is asked.
import { foreign, guarded, h } from './dom.js';
import { bytes, duration, whole } from './format.js';
import { plain } from './json.js';
import { pushTime, visible } from './keys.js';
import { Poll } from './poll.js';
import { table } from './table.js';

const window_ = 60_000;
const linesMax = 1000;

/** Push ids and long keys as `*`, so that equal operations are one line. */
const pattern = (path) => '/' + path.split('/').filter(Boolean).map((key) => (pushTime(key) || key.length > 40 ? '*' : key)).join('/');

export class ProfilePage {
  title = 'Profile';

  constructor(app) {
    this.app = app;
    this.lines = new Map();
    this.isOn = false;
    this.toggle = h('button.primary', { type: 'button', onclick: guarded(() => this.set(!this.isOn)) }, 'Start');
    this.status = h('p.status', { role: 'status' }, 'Not watching.');
    this.filter = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'Filter by path or operation', oninput: () => this.draw() });
    const figure = (name, label, value, show) => ({ name, label, figure: true, sort: value, cell: (row) => show(value(row)) });
    this.list = table({
      label: 'Operations', order: 'us', down: true, columns: [
        { name: 'path', label: 'Path', sort: (row) => row.path, cell: (row) => foreign(visible(row.path), { className: 'mono' }) },
        { name: 'op', label: 'Operation', sort: (row) => row.op, cell: (row) => row.op },
        figure('count', 'Count', (row) => row.count, whole), figure('us', 'Time', (row) => row.us, duration),
        figure('each', 'Each', (row) => row.us / row.count, duration), figure('wait', 'Waited', (row) => row.wait, duration),
        figure('bytes', 'Bytes', (row) => row.bytes, bytes), figure('denied', 'Denied', (row) => row.denied, whole),
        figure('failed', 'Failed', (row) => row.failed, whole), figure('unindexed', 'Without index', (row) => row.unindexed, whole),
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'profile-title' }, h('h1', { id: 'profile-title' }, 'Profile'),
      h('div.tools', {}, this.toggle, h('button', { type: 'button', onclick: () => { this.lines.clear(); this.draw(); } }, 'Clear'), this.filter),
      this.status, this.list.element);
    this.onPush = (event) => this.take(plain(event.data));
    app.connection.addEventListener('push:prof', this.onPush);
    this.poll = new Poll(1000, async () => this.draw());
  }

  take(lines) {
    const now = Date.now();
    for (const line of lines) {
      if (line.others) { this.others = (this.others ?? 0) + line.others; continue; }
      const path = pattern(line.path);
      const key = `${line.op} ${path}`;
      const known = this.lines.get(key) ?? { op: line.op, path, parts: [] };
      known.parts.push({ at: now, count: line.count, us: line.us, wait: line.wait ?? 0, bytes: line.bytes ?? 0, denied: line.denied ?? 0, failed: line.failed ?? 0, unindexed: line.unindexed ?? 0 });
      this.lines.set(key, known);
    }
  }

  draw() {
    const start = Date.now() - window_;
    const words = this.filter.value.toLowerCase();
    const rows = [];
    for (const [key, line] of this.lines) {
      line.parts = line.parts.filter((part) => part.at >= start);
      if (line.parts.length === 0) { this.lines.delete(key); continue; }
      if (words && !key.toLowerCase().includes(words)) continue;
      const row = { op: line.op, path: line.path, count: 0, us: 0, wait: 0, bytes: 0, denied: 0, failed: 0, unindexed: 0 };
      for (const part of line.parts) for (const name of Object.keys(part)) if (name !== 'at') row[name] += part[name];
      rows.push(row);
    }
    const isCut = rows.length > linesMax;
    this.list.show(rows.slice(0, linesMax));
    this.status.textContent = this.isOn
      ? `Watching ${this.app.database}: the last minute, ${whole(rows.length)} lines${isCut ? `, of which ${linesMax} are shown` : ''}. This costs the server a little.`
      : 'Not watching.';
  }

  async set(isOn) {
    await this.app.connection.admin('profile', { on: isOn });
    this.isOn = isOn;
    this.toggle.textContent = isOn ? 'Stop' : 'Start';
    this.draw();
  }

  show() { this.poll.start(); }
  /** After the connection came back. */
  ready() { if (this.isOn) this.set(true); }
  hide() {
    this.poll.stop();
    if (this.isOn) this.set(false).catch(() => { this.isOn = false; });
  }
}
