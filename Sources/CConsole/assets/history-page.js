// What was committed at, above and below a path: as far back as the log reaches, or in the history that settings keep.
import { ask } from './dialog.js';
import { announce, choice, foreign, guarded, h } from './dom.js';
import { bytes, time } from './format.js';
import { stringify } from './json.js';
import { pathText, readPath, visible } from './keys.js';
import { KnownTree } from './known-tree.js';

const page = 50;
const text = (change) => (change.has('value') ? stringify(change.get('value')) : change.has('bytes') ? bytes(change.get('bytes').value) : '');

export class HistoryPage {
  title = 'History';

  constructor(app) {
    this.app = app;
    this.field = h('input', { type: 'text', 'aria-label': 'Path', spellcheck: false, autocomplete: 'off' });
    this.source = choice([['log', 'Commit log'], ['kept', 'Kept history']], 'log', { 'aria-label': 'Source', onchange: guarded(() => this.load(true)) });
    this.body = h('tbody');
    this.status = h('p.status', { role: 'status' });
    this.more = h('button', { type: 'button', onclick: guarded(() => this.load(false)) }, 'Older');
    this.element = h('section.page', { 'aria-labelledby': 'history-title' }, h('h1', { id: 'history-title' }, 'History'),
      h('form.tools', { onsubmit: (event) => { event.preventDefault(); this.go(); } }, this.field, this.source,
        h('button.primary', { type: 'submit' }, 'Show')),
      this.status,
      h('div.table-area', { tabIndex: 0, role: 'region', 'aria-label': 'History' }, h('table', { 'aria-label': 'History' },
        h('thead', {}, h('tr', {}, ['Commit', 'Time', 'By', 'Path', 'Before', 'After'].map((name) => h('th', { scope: 'col' }, name)))), this.body)),
      h('div.tools', {}, this.more));
  }

  go() {
    const keys = readPath(this.field.value);
    const address = this.app.address('history', keys);
    if (location.hash === address) this.show(keys, true); else location.hash = address;
  }

  async show(keys, again = true) {
    const path = pathText(keys);
    if (path === this.path && !again) return;
    this.path = path;
    this.field.value = path;
    await this.load(true);
  }

  async load(fromEnd) {
    if (fromEnd) {
      this.entries = [];
      this.before = undefined;
      this.draw();
    }
    const { path, before, isKept } = this;
    const answer = isKept ? await this.past(path, 'log', { n: page, before })
      : await this.app.connection.admin('history', { p: path, n: page, before });
    if (path !== this.path || isKept !== this.isKept || before !== this.before) return;
    this.entries.push(...answer.get('entries'));
    this.before = answer.get('before');
    this.draw();
  }

  get isKept() { return this.source.value === 'kept'; }

  /** A request about the kept history of a path (Protocol.md 18.5). */
  past(path, command, members) { return this.app.connection.request('h', { p: path, c: command, ...members }); }

  /** Shows the value after a commit, and sets the path to it if that is wanted. */
  async look(path, number) {
    const value = stringify(await this.past(path, 'get', { seq: number }));
    const isWanted = await ask({
      title: `${visible(path)} after commit ${number.text}`, confirm: 'Restore', danger: true, wide: true,
      body: [h('pre.value', {}, foreign(visible(value.length > 100_000 ? `${value.slice(0, 100_000)}…` : value)))],
    });
    if (!isWanted) return;
    await this.past(path, 'restore', { seq: number });
    announce(`${visible(path)} is as it was after commit ${number.text}.`);
    await this.load(true);
  }

  draw() {
    const { path: shown } = this;
    const known = new KnownTree();
    const rows = [];
    // From the oldest on: what a change has found is what those before it have left.
    for (const entry of [...this.entries].reverse()) {
      for (const change of entry.get('changes')) {
        const path = change.get('path');
        const keys = readPath(path);
        const before = known.get(keys);
        rows.push(h('tr', {}, h('th', { scope: 'row' }, this.isKept
          ? h('button', { type: 'button', 'aria-label': `The value after commit ${entry.get('seq').text}`, onclick: guarded(() => this.look(shown, entry.get('seq'))) }, entry.get('seq').text)
          : entry.get('seq').text), h('td', {}, time(entry.get('time').value)),
          h('td', {}, entry.has('uid') ? foreign(visible(entry.get('uid'))) : h('span.muted', {}, 'administrator, or nobody')),
          h('td.mono', {}, h('a', { href: this.app.address('data', keys) }, foreign(visible(path)))),
          h('td', {}, before !== undefined ? foreign(visible(stringify(before)), { className: 'v' }) : h('span.muted', {}, 'not in what is shown')),
          h('td', {}, foreign(visible(text(change)), { className: 'v' }))));
        known.set(keys, change.get('value'));
      }
      if (entry.has('more')) rows.push(h('tr', {}, h('td', { colSpan: 6 }, `and ${entry.get('more').text} more places`)));
    }
    this.body.replaceChildren(...rows.reverse());
    this.more.disabled = this.before === undefined;
    const source = this.isKept ? 'history' : 'log';
    this.status.textContent = this.entries.length === 0 ? (this.before === undefined ? `Nothing was committed here in the time that the ${source} covers.` : `Nothing in this part of the ${source}; there is more.`)
      : `${this.entries.length} commits shown${this.before === undefined ? `, all that the ${source} has` : ''}`;
  }
}
