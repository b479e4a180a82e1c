// Who is connected, and ending a connection.
import { confirmed } from './dialog.js';
import { announce, foreign, guarded, h, report } from './dom.js';
import { bytes, time, whole } from './format.js';
import { plain, stringify } from './json.js';
import { visible } from './keys.js';
import { Poll } from './poll.js';
import { table } from './table.js';

export class ConnectionsPage {
  title = 'Connections';

  constructor(app) {
    this.app = app;
    this.filter = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'Filter by user, address, database or path', oninput: () => this.draw() });
    this.status = h('p.status', { role: 'status' });
    this.list = table({
      label: 'Connections', order: 'since', down: true, columns: [
        { name: 'who', label: 'Who', sort: (row) => row.uid ?? '', cell: (row) => (row.uid ? foreign(visible(row.uid)) : h('span.muted', {}, 'nobody')) },
        { name: 'from', label: 'From', sort: (row) => row.from ?? '', cell: (row) => foreign(row.from ?? '') },
        { name: 'database', label: 'Database', sort: (row) => row.database, cell: (row) => row.database },
        { name: 'by', label: 'By', sort: (row) => row.transport, cell: (row) => row.transport },
        { name: 'since', label: 'Since', sort: (row) => row.since, cell: (row) => time(row.since) },
        { name: 'waiting', label: 'Backlog', figure: true, sort: (row) => row.waiting, cell: (row) => bytes(row.waiting) },
        { name: 'listens', label: 'Listeners', figure: true, sort: (row) => row.listens, cell: (row) => whole(row.listens) },
        { name: 'at', label: 'Listens at', cell: (row) => row.at.slice(0, 5).map((listen) => h('div.mono', {}, foreign(visible(listen.path)), listen.query ? ` ${stringify(listen.query)}` : ''))
          .concat(row.at.length > 5 ? h('div.muted', {}, `and ${row.listens - 5} more`) : []) },
        { name: 'end', label: 'End', cell: (row) => h('button', { type: 'button', 'data-focus': row.id, 'aria-label': `End the connection of ${row.uid ?? 'nobody'} from ${row.from}`, onclick: guarded(() => this.end(row)) }, 'End') },
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'connections-title' }, h('h1', { id: 'connections-title' }, 'Connections'),
      h('div.tools', {}, this.filter), this.status, this.list.element);
    this.poll = new Poll(2000, () => this.load(), report);
    this.rows = [];
  }

  async load() {
    const answer = plain(await this.app.connection.admin('sessions', { n: 1000 }));
    this.rows = answer.sessions;
    this.count = answer.count;
    this.draw();
  }

  draw() {
    const words = this.filter.value.toLowerCase();
    const rows = this.rows.filter((row) => !words || [row.uid, row.from, row.database, row.transport, ...row.at.map((listen) => listen.path)]
      .some((text) => text?.toLowerCase().includes(words)));
    this.status.textContent = `${whole(this.count ?? 0)} connected, ${whole(rows.length)} shown`;
    this.list.show(rows);
  }

  async end(row) {
    const isSure = await confirmed('End this connection?', `${visible(row.uid ?? 'Nobody')} from ${row.from}. Clients usually come back by themselves.`, 'End it');
    if (!isSure) return;
    await this.app.connection.admin('kick', { id: row.id });
    announce('The connection was ended.');
    await this.load();
  }

  show() { this.poll.start(); }
  hide() { this.poll.stop(); }
}
