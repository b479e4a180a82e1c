// How the server was started, and its databases.
import { foreign, h } from './dom.js';
import { bytes, span, time } from './format.js';
import { plain } from './json.js';
import { table } from './table.js';

const facts = (entries) => h('dl.facts', {}, entries.filter(([, value]) => value !== undefined && value !== null)
  .flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value === true ? 'yes' : value === false ? 'no' : foreign(String(value)))]));

export class SettingsPage {
  title = 'Settings';

  constructor(app) {
    this.app = app;
    this.body = h('div', {});
    this.databases = table({
      label: 'Databases', columns: [
        { name: 'name', label: 'Name', cell: (row) => h('a', { href: app.address('data', [], row.name) }, foreign(row.name)) },
        { name: 'bytes', label: 'Files', figure: true, cell: (row) => bytes(row.bytes) },
        { name: 'rules', label: 'Rules', cell: (row) => (row.rules === 'own' ? 'its own' : row.rules === 'none' ? 'none' : foreign(row.rules)) },
        { name: 'default', label: 'Default', cell: (row) => (row.default ? 'yes' : '') },
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'settings-title' }, h('h1', { id: 'settings-title' }, 'Settings'),
      this.body, h('h2', {}, 'Databases'), this.databases.element);
  }

  async show() {
    const { connection } = this.app;
    const [server, stats, list] = (await Promise.all([connection.admin('server'), connection.admin('stats'), connection.admin('databases')])).map(plain);
    this.body.replaceChildren(
      h('h2', {}, 'Server'),
      facts([['Version', server.version], ['Mode', server.mode], ['Started', time(server.startedAt)], ['Up', span(stats.uptime)], ['Default database', server.database],
        ['Project of accounts', server.project], ['Memory', bytes(stats.memory)]]),
      h('h2', {}, 'Options in force'), facts(Object.entries(server.options)));
    this.databases.show(list.databases);
  }
}
