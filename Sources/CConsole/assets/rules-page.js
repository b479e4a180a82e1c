// The rules of the database: editing, publishing, trying and testing them, and what they have denied.
import { foreign, guarded, h, report } from './dom.js';
import { time } from './format.js';
import { visible } from './keys.js';
import { Poll } from './poll.js';
import { PublishedFile } from './published-file.js';
import { makeRulesTests } from './rules-tests.js';
import { makeSimulator } from './simulator.js';
import { table } from './table.js';

export class RulesPage {
  title = 'Rules';

  constructor(app) {
    this.app = app;
    this.file = new PublishedFile(app, 'rules');
    const goTo = (line, column) => this.file.goTo(line, column);
    this.simulator = makeSimulator(app, { goTo });
    this.tests = makeRulesTests(app, { rules: () => this.file.text, goTo });
    this.denials = table({
      label: 'Denials', columns: [
        { name: 'time', label: 'Time', cell: (row) => time(row.time) },
        { name: 'operation', label: 'Operation', cell: (row) => row.operation },
        { name: 'path', label: 'Path', cell: (row) => foreign(visible(row.path), { className: 'mono' }) },
        { name: 'uid', label: 'User', cell: (row) => (row.uid ? foreign(visible(row.uid)) : h('span.muted', {}, 'nobody')) },
        { name: 'why', label: 'Rule', cell: (row) => foreign(visible(row.why ?? '')) },
        { name: 'try', label: 'Try', cell: (row) => h('button', { type: 'button', 'data-focus': `${row.time} ${row.path}`, 'aria-label': `Simulate the ${row.operation} of ${visible(row.path)}`, onclick: guarded(() => this.simulator.take(row)) }, 'Simulate') },
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'rules-title' }, h('h1', { id: 'rules-title' }, 'Rules'),
      this.file.tools, h('div.split', {}, this.file.element, h('div', {}, this.simulator.element, this.tests.element)),
      h('h2', {}, 'Recent denials'), this.denials.element);
    this.poll = new Poll(5000, () => this.loadDenials(), report);
  }

  async show() {
    this.poll.start();
    this.tests.show();
    await this.file.load();
  }

  hide() { this.poll.stop(); }

  ready() { this.file.ready(); }

  async loadDenials() {
    const answer = await this.app.connection.rest('GET', '/.settings/denials.json');
    this.denials.show((answer.body ?? []).slice(0, 100));
  }
}
