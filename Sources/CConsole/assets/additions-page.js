// The settings of the database beside its rules: editing, publishing and testing them, the values that should be unique
// and are not, and the totals that the server keeps.
import { foreign, guarded, h, report } from './dom.js';
import { plain, stringify } from './json.js';
import { pathText, readPath, visible } from './keys.js';
import { Poll } from './poll.js';
import { PublishedFile } from './published-file.js';
import { makeRulesTests } from './rules-tests.js';
import { table } from './table.js';

const example = `{
  "tests": [
    {"as": "ann", "write": "/orders/a", "value": {"price": 5}, "allowed": true, "then": {"/stats/orders": 1}}
  ]
}
`;

export class AdditionsPage {
  title = 'Additions';

  constructor(app) {
    this.app = app;
    this.file = new PublishedFile(app, 'settings');
    this.file.onpublish = () => this.load().catch(report);
    this.file.status.before(h('button.danger', { type: 'button', onclick: guarded(() => this.file.remove()) }, 'Remove…'));
    this.tests = makeRulesTests(app, { settings: () => this.file.text, example });
    const text = (name, label) => ({ name, label, sort: (row) => row[name], cell: (row) => foreign(visible(row[name]), { className: 'mono' }) });
    const state = { name: 'state', label: 'State', sort: (row) => row.state, cell: (row) => (row.state === 'conflicts' ? h('span.gap', {}, '✗ conflicts') : row.state === 'building' || row.state === 'counting' ? `… ${row.state}` : `✓ ${row.state}`) };
    this.unique = table({
      label: 'Unique values', columns: [text('path', 'Children of'), text('child', 'Value at'), state,
        { name: 'count', label: 'Duplicates', figure: true, sort: (row) => row.count, cell: (row) => row.count }],
    });
    this.conflicts = table({
      label: 'Conflicts', columns: [text('path', 'Children of'), text('child', 'Value at'),
        { name: 'keys', label: 'Have the same', cell: (row) => row.keys.map((key, index) => [index > 0 ? ' and ' : '',
          h('a', { 'data-focus': `${row.path} ${row.child} ${key}`, href: app.address('data', [...readPath(row.path), key]) }, foreign(visible(key), { className: 'mono' }))]).flat() }],
    });
    this.totals = table({
      label: 'Totals', columns: [text('path', 'Total at'), { name: 'now', label: 'Now', figure: true, cell: (row) => foreign(row.now) },
        { name: 'of', label: 'Of', sort: (row) => row.of, cell: (row) => [row.value === undefined ? 'children of ' : [foreign(visible(row.value), { className: 'mono' }), ' of '], foreign(visible(row.of), { className: 'mono' })].flat() }, state],
    });
    this.named = h('div', { hidden: true }, h('h3', {}, 'Children that have the same value'), this.conflicts.element);
    this.element = h('section.page', { 'aria-labelledby': 'additions-title' }, h('h1', { id: 'additions-title' }, 'Additions'),
      this.file.tools, h('div.split', {}, this.file.element,
        h('div', {}, h('h2', {}, 'Unique values'), this.unique.element, this.named,
          h('h2', {}, 'Totals'), this.totals.element, this.tests.element)));
    this.poll = new Poll(5000, () => this.load(), report);
  }

  async show() {
    this.poll.start();
    this.tests.show();
    await this.file.load();
  }

  hide() { this.poll.stop(); }

  ready() { this.file.ready(); }

  async load() {
    const { databases = [] } = plain(await this.app.connection.admin('stats'));
    const { unique = [], totals = [] } = databases.find(({ name }) => name === this.app.database) ?? {};
    this.unique.show(unique.map((row) => ({ ...row, count: row.count ?? 0 })));
    const pairs = unique.flatMap(({ child, duplicates = [] }) => duplicates.map((pair) => ({ ...pair, child })));
    this.conflicts.show(pairs);
    this.named.hidden = pairs.length === 0;
    this.totals.show(await Promise.all(totals.map(async (row) => ({ ...row, now: await this.value(row.path) }))));
  }

  /** The total at a place; there are many of one with wildcards. */
  async value(path) {
    const keys = readPath(path);
    if (keys.some((key) => key.startsWith('$'))) return 'one for each';
    return stringify(await this.app.connection.request('g', { p: pathText(keys), q: {} }) ?? 0);
  }
}
