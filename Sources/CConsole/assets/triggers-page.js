// Whom the server tells of changes, and the events that were set aside because nobody took them.
import { confirmed } from './dialog.js';
import { announce, foreign, guarded, h, report } from './dom.js';
import { time, whole } from './format.js';
import { plain } from './json.js';
import { visible } from './keys.js';
import { Poll } from './poll.js';
import { table } from './table.js';

const shownMax = 100;

export class TriggersPage {
  title = 'Triggers';

  constructor(app) {
    this.app = app;
    this.status = h('p.status', { role: 'status' });
    const text = (name, label) => ({ name, label, sort: (row) => row[name] ?? '', cell: (row) => foreign(visible(row[name] ?? '')) });
    const figure = (name, label) => ({ name, label, figure: true, sort: (row) => row[name] ?? 0, cell: (row) => whole(row[name] ?? 0) });
    const button = (label, name, id, wish) => h('button', {
      type: 'button', 'data-focus': `${wish} ${name} ${id ?? ''}`, 'aria-label': `${label} ${id ?? `all events of ${name} that were set aside`}`,
      onclick: guarded(() => this.change(wish, name, id)),
    }, label);
    this.list = table({
      label: 'Triggers', columns: [text('name', 'Trigger'), text('on', 'On'),
        { name: 'path', label: 'Path', sort: (row) => row.path ?? '', cell: (row) => foreign(visible(row.path ?? ''), { className: 'mono' }) },
        figure('waiting', 'Waiting'), figure('aside', 'Set aside'), figure('delivered', 'Delivered'), figure('failures', 'Failures'),
        text('target', 'Target'), text('lastFailure', 'Last failure'),
        { name: 'do', label: 'Set aside', cell: (row) => (row.aside ? h('div.tools', {}, button('Send again', row.name, undefined, 'replay'), button('Drop', row.name, undefined, 'drop')) : '') }],
    });
    this.events = table({
      label: 'Events that were set aside', columns: [
        { name: 'id', label: 'Event', cell: (row) => foreign(visible(row.id), { className: 'mono' }) }, text('trigger', 'Trigger'),
        { name: 'time', label: 'Time', sort: (row) => row.time, cell: (row) => time(row.time) }, text('type', 'Type'),
        { name: 'path', label: 'Path', sort: (row) => row.path, cell: (row) => foreign(visible(row.path), { className: 'mono' }) }, text('failure', 'Failure'),
        { name: 'do', label: 'Actions', cell: (row) => h('div.tools', {}, button('Send again', row.trigger, row.id, 'replay'), button('Drop', row.trigger, row.id, 'drop')) }],
    });
    this.element = h('section.page', { 'aria-labelledby': 'triggers-title' }, h('h1', { id: 'triggers-title' }, 'Triggers'),
      this.status, this.list.element, h('h2', {}, 'Events that were set aside'), this.events.element);
    this.poll = new Poll(2000, () => this.load(), report);
  }

  show() { this.poll.start(); }
  hide() { this.poll.stop(); }

  async load() {
    const { triggers = [], events = [] } = plain(await this.app.connection.admin('triggers', { do: 'list', n: shownMax }));
    const sum = (name) => whole(triggers.reduce((total, row) => total + (row[name] ?? 0), 0));
    this.status.textContent = triggers.length === 0 ? 'The settings have no trigger.'
      : `${triggers.length} ${triggers.length === 1 ? 'trigger' : 'triggers'}; ${sum('waiting')} events wait, ${sum('aside')} were set aside`;
    this.list.show(triggers);
    this.events.show(events);
  }

  /** Sends events again, or drops them: one, or all of a trigger. */
  async change(wish, name, id) {
    if (wish === 'drop') {
      const what = id === undefined ? `All events of ${visible(name)} that were set aside will never be sent.` : `${visible(id)} will never be sent.`;
      if (!await confirmed(id === undefined ? 'Drop these events?' : 'Drop this event?', what, 'Drop')) return;
    }
    let total = 0;
    for (;;) {
      const { count = 0, more = false } = plain(await this.app.connection.admin('triggers', { do: wish, name, id }));
      total += count;
      if (!more || count === 0) break;
    }
    announce(`${whole(total)} ${total === 1 ? 'event' : 'events'} ${wish === 'drop' ? 'dropped' : total === 1 ? 'is sent again' : 'are sent again'}.`);
    await this.load();
  }
}
