// The jobs of a queue: how many wait, who has which, and those that were given up.
import { confirmed } from './dialog.js';
import { announce, foreign, guarded, h, report } from './dom.js';
import { span, time, whole } from './format.js';
import { Obj, plain, stringify } from './json.js';
import { pathText, pushTime, readPath, visible } from './keys.js';
import { Poll } from './poll.js';
import { table } from './table.js';
import { readMax } from './writes.js';

const countMax = 5000;
const shownMax = 100;

/** The text of a settings file without comments and trailing commas. */
const withoutComments = (text) => text
  .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
  .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1');

/** The places with a queue in settings: keys, with `$` names for wildcards. */
function queuePaths(settings, keys = []) {
  if (typeof settings !== 'object' || settings === null) return [];
  return Object.entries(settings).flatMap(([key, value]) => (key === '.queue' ? [keys]
    : key.startsWith('.') ? [] : queuePaths(value, [...keys, ...key.split('/').filter(Boolean)])));
}

/** Clients may have written anything where the members of a job belong. */
const text = (value) => (typeof value === 'string' ? value : value === undefined ? '' : stringify(value));
const number = (value) => (typeof value === 'number' ? value : undefined);

export class QueuesPage {
  title = 'Queues';

  constructor(app) {
    this.app = app;
    this.field = h('input', { type: 'text', 'aria-label': 'Path of the queue', spellcheck: false, autocomplete: 'off' });
    this.known = h('p', { className: 'muted' });
    this.status = h('p.status', { role: 'status' });
    const key = { name: 'key', label: 'Job', cell: (row) => h('a', { 'data-focus': `${row.part} ${row.key}`, href: this.app.address('data', [...this.keys, row.part, row.key]) }, foreign(visible(row.key), { className: 'mono' })) };
    const attempts = { name: 'attempts', label: 'Attempts', figure: true, sort: (row) => number(row.attempts) ?? 0, cell: (row) => foreign(visible(text(row.attempts))) };
    const error = { name: 'error', label: 'Error', cell: (row) => foreign(visible(text(row.error)), { className: 'v' }) };
    this.states = table({
      label: 'Jobs that were handed out or have failed', columns: [key,
        { name: 'what', label: 'State', sort: (row) => row.what, cell: (row) => row.what },
        attempts,
        { name: 'until', label: 'Until', sort: (row) => number(row.until ?? row.at) ?? 0, cell: (row) => time(number(row.until ?? row.at)) },
        { name: 'worker', label: 'Worker', cell: (row) => foreign(visible(text(row.worker))) }, error],
    });
    this.dead = table({
      label: 'Dead jobs', columns: [key, attempts, { name: 'at', label: 'Given up', sort: (row) => number(row.at) ?? 0, cell: (row) => time(number(row.at)) }, error,
        { name: 'do', label: 'Actions', cell: (row) => h('div.tools', {},
          h('button', { type: 'button', 'data-focus': `retry ${row.key}`, 'aria-label': `Try ${row.key} again`, onclick: guarded(() => this.retry(row.key)) }, 'Try again'),
          h('button', { type: 'button', 'data-focus': `drop ${row.key}`, 'aria-label': `Drop ${row.key}`, onclick: guarded(() => this.drop(row.key)) }, 'Drop…')) }],
    });
    this.element = h('section.page', { 'aria-labelledby': 'queues-title' }, h('h1', { id: 'queues-title' }, 'Queues'),
      h('form.tools', { onsubmit: (event) => { event.preventDefault(); this.go(); } }, this.field, h('button.primary', { type: 'submit' }, 'Show')),
      this.known, this.status, h('h2', {}, 'Handed out, or failed'), this.states.element, h('h2', {}, 'Dead'), this.dead.element);
    this.poll = new Poll(2000, () => this.load(), report);
  }

  go() {
    const keys = readPath(this.field.value);
    const address = this.app.address('queues', keys);
    if (location.hash === address) this.show(keys); else location.hash = address;
  }

  async show(keys) {
    this.hide();
    const shown = this.shown;
    const known = await this.queues();
    // Another queue may be shown by now, or another page.
    if (shown !== this.shown) return;
    this.known.replaceChildren(...(known.length === 0 ? ['The settings have no queue.'] : ['Queues: ',
      ...known.map((path, index) => [index > 0 ? ', ' : '', path.some((part) => part.startsWith('$')) ? foreign(pathText(path), { className: 'mono' })
        : h('a.mono', { href: this.app.address('queues', path) }, foreign(visible(pathText(path))))]).flat()]));
    const first = known.find((path) => !path.some((part) => part.startsWith('$')));
    this.keys = keys.length > 0 || !first ? keys : first;
    this.path = pathText(this.keys);
    this.field.value = this.path;
    if (this.keys.length > 0) this.poll.start();
  }

  hide() {
    this.poll.stop();
    this.shown = Symbol('shown');
  }

  async queues() {
    const answer = await this.app.connection.rest('GET', '/.settings/settings.json');
    try {
      const file = typeof answer.body === 'string' ? JSON.parse(withoutComments(answer.body)) : answer.body;
      return queuePaths(file?.settings);
    } catch { return []; }
  }

  /** What is in a part of the queue: up to so many children, each with its members. */
  async children(part) {
    const path = `${this.path}/${part}`;
    const found = plain(await this.app.connection.admin('children', { p: path, n: shownMax }));
    return Promise.all((found.c ?? []).map(async ({ k: key, v: value, b: size = 0 }) => {
      const known = value ?? (size <= readMax ? plain(await this.app.connection.request('g', { p: `${path}/${key}`, q: {} })) : {});
      return { ...(typeof known === 'object' ? known : {}), key };
    }));
  }

  async load() {
    const { path } = this;
    const { connection } = this.app;
    const [jobs, first, states, dead] = await Promise.all([
      connection.admin('count', { p: `${path}/jobs`, n: countMax }), connection.admin('children', { p: `${path}/jobs`, n: 1 }),
      this.children('state'), this.children('dead'),
    ]);
    if (path !== this.path) return;
    const count = plain(jobs).n ?? 0;
    const oldest = plain(first).c?.[0]?.k;
    const made = oldest === undefined ? null : pushTime(oldest);
    const held = states.filter((row) => row.until !== undefined).length;
    this.status.textContent = count === 0 && dead.length === 0 ? 'There are no jobs.'
      : `${whole(count)}${count >= countMax ? ' or more' : ''} ${count === 1 ? 'job' : 'jobs'}, ${held} handed out, `
        + `${dead.length}${dead.length >= shownMax ? ' or more' : ''} dead`
        + (oldest === undefined ? '' : `; the first is ${visible(oldest)}${made ? `, made ${span((Date.now() - made) / 1000)} ago` : ''}`);
    this.states.show(states.map((row) => ({ ...row, part: 'jobs', what: row.until === undefined ? 'waits' : 'handed out' })));
    this.dead.show(dead.map((row) => ({ ...row, part: 'dead' })));
  }

  async retry(key) {
    const { app: { connection }, path } = this;
    const value = await connection.request('g', { p: `${path}/dead/${key}/value`, q: {} });
    if (value === null) throw new Error(`${visible(key)} is not there any more.`);
    await connection.request('m', { p: path, d: new Obj([[`jobs/${key}`, value], [`dead/${key}`, null]]) });
    announce(`${visible(key)} is tried again.`);
    await this.load();
  }

  async drop(key) {
    const { app: { connection }, path } = this;
    const value = stringify(await connection.request('g', { p: `${path}/dead/${key}/value`, q: {} }));
    const isSure = await confirmed('Drop this job?', `${visible(key)}: ${visible(value.length > 200 ? `${value.slice(0, 200)}…` : value)}`, 'Drop it');
    if (!isSure) return;
    await connection.request('p', { p: `${path}/dead/${key}`, d: null });
    announce(`${visible(key)} was dropped.`);
    await this.load();
  }
}
