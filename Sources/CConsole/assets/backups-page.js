// Copies of the database in the server's data folder.
import { announce, foreign, guarded, h } from './dom.js';
import { bytes, time, whole } from './format.js';
import { plain } from './json.js';
import { table } from './table.js';
import { save } from './transfer.js';

export class BackupsPage {
  title = 'Backups';

  constructor(app) {
    this.app = app;
    this.status = h('p.status', { role: 'status' });
    this.make = h('button.primary', { type: 'button', onclick: guarded(() => this.create()) }, 'Back up now');
    this.list = table({
      label: 'Backups', columns: [
        { name: 'file', label: 'File', cell: (row) => foreign(row.file, { className: 'mono' }) },
        { name: 'time', label: 'Made', cell: (row) => time(row.time) },
        { name: 'bytes', label: 'Size', figure: true, cell: (row) => bytes(row.bytes) },
        { name: 'do', label: 'Actions', cell: (row) => h('div.tools', {},
          h('button', { type: 'button', 'aria-label': `Check ${row.file}`, onclick: guarded(() => this.check(row)) }, 'Check'),
          h('button', { type: 'button', 'aria-label': `Download ${row.file}`, onclick: guarded(() => this.download(row)) }, 'Download')) },
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'backups-title' }, h('h1', { id: 'backups-title' }, 'Backups'),
      h('p', {}, 'Copies that were made here are in the data folder of the server. Keep others elsewhere: ', h('code', {}, 'hearth backup --to DIR'), '.'),
      h('div.tools', {}, this.make), this.status, this.list.element);
  }

  async show() {
    const answer = plain(await this.app.connection.admin('backups'));
    this.list.show(answer.backups);
    this.status.textContent = answer.backups.length === 0 ? 'There are no backups yet.' : `${answer.backups.length} backups`;
  }

  async create() {
    this.make.disabled = true;
    this.status.textContent = `Copying ${this.app.database}…`;
    try {
      const made = plain(await this.app.connection.admin('backup'));
      announce(`Backed up ${this.app.database}: ${bytes(made.bytes)}.`);
    } finally {
      this.make.disabled = false;
      await this.show();
    }
  }

  async check({ file }) {
    this.status.textContent = `Checking ${file}…`;
    try {
      const found = plain(await this.app.connection.admin('check-backup', { file }));
      this.status.textContent = `${file} is whole: database ${found.database}, ${whole(found.rows)} rows, up to commit ${found.sequence}, made ${time(found.time)}.`;
    } catch (error) {
      this.status.textContent = '';
      throw error;
    }
  }

  async download({ file, bytes: total }) {
    const parts = [];
    let done = 0;
    for (;;) {
      const answer = await this.app.connection.admin('read-backup', { file, at: done });
      const part = Uint8Array.from(atob(answer.get('data')), (character) => character.charCodeAt(0));
      if (part.length === 0) break;
      parts.push(part);
      done += part.length;
      this.status.textContent = `Reading ${file}: ${bytes(done)} of ${bytes(total)}`;
    }
    save(parts, file, 'application/octet-stream');
    this.status.textContent = `Downloaded ${file}, ${bytes(done)}.`;
  }
}
