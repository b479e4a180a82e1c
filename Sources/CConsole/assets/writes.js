// Changes that this page makes, each with what takes it back.
import { asKept, hashOf } from './hash.js';
import { Num, Obj, stringify } from './json.js';

/** What is larger is not read into the page. */
export const readMax = 1 << 20;

/** A leaf with its priority, as it is written. */
export function withPriority(value, priority) {
  if (priority === null || priority === undefined || value === null) return value;
  if (value instanceof Obj && !value.has('.sv')) {
    return new Obj([['.priority', priority], ...value.entries.filter(([key]) => key !== '.priority')]);
  }
  return new Obj([['.value', value], ['.priority', priority]]);
}

const stale = () => Object.assign(new Error(), { status: 'datastale' });

const samePriority = (a, b) => (a instanceof Num && b instanceof Num ? a.value === b.value : a === b);

/** Events: `change`, when there is more or less to undo. */
export class Writes extends EventTarget {
  #done = [];

  /** @param {import('./socket.js').Connection} connection */
  constructor(connection) {
    super();
    this.connection = connection;
  }

  /** What would be undone; null if there is nothing. */
  get last() { return this.#done.at(-1)?.title ?? null; }

  #keep(title, places) {
    this.#done.push({ title, places });
    if (this.#done.length > 50) this.#done.shift();
    this.dispatchEvent(new Event('change'));
  }

  read(path) { return this.connection.request('g', { p: path, q: {} }); }

  /**
   * Sets a place. With `before`, only if that is what is there: the error is `datastale` otherwise.
   * @param {string} title what was done, for the list of what can be undone
   */
  async set(title, path, value, { before } = {}) {
    const known = before !== undefined;
    await this.connection.request('p', {
      p: path, d: value, h: known ? await hashOf(before) : undefined,
    });
    if (!known) return;
    // The server may have filled something in.
    const after = stringify(value).includes('".sv"') ? await this.read(path) : asKept(value);
    this.#keep(title, [{ path, before, after }]);
  }

  /** Renames a child: one commit. */
  async rename(parent, from, to) {
    const path = (key) => `${parent === '/' ? '' : parent}/${key}`;
    const value = await this.read(path(from));
    const target = await this.connection.admin('children', { p: path(to), n: 1 });
    if (target.get('t') !== 'null') throw new Error(`There is a child ${to} already.`);
    await this.connection.request('m', { p: parent, d: new Obj([[from, null], [to, value]]) });
    this.#keep(`rename ${from} to ${to}`, [
      { path: path(to), before: null, after: value }, { path: path(from), before: value, after: null },
    ]);
  }

  /** The node itself may be too large for the page. */
  async setPriority(path, priority) {
    const before = await this.#priority(path);
    await this.#write(path, priority);
    this.#keep(`priority of ${path}`, [{ path, before, after: priority, isPriority: true }]);
  }

  async #priority(path) { return (await this.connection.admin('children', { p: path, n: 1 })).get('pri') ?? null; }

  #write(path, priority) {
    return this.connection.request('p', { p: `${path === '/' ? '' : path}/.priority`, d: priority });
  }

  /** Takes the last change back, unless the place has changed since. Answers what it was. */
  async undo() {
    const change = this.#done.pop();
    if (!change) return null;
    this.dispatchEvent(new Event('change'));
    try {
      const [{ path, before, after, isPriority }] = change.places;
      if (isPriority) {
        if (!samePriority(await this.#priority(path), after)) throw stale();
        await this.#write(path, before);
      } else if (change.places.length === 1) {
        await this.connection.request('p', { p: path, d: before, h: await hashOf(after) });
      } else {
        for (const { path, after } of change.places) {
          if (await hashOf(await this.read(path)) !== await hashOf(after)) throw stale();
        }
        await this.connection.request('m', {
          p: '/', d: new Obj(change.places.map(({ path, before }) => [path.slice(1), before])),
        });
      }
    } catch (error) {
      if (error.status !== 'datastale') {
        this.#done.push(change);
        this.dispatchEvent(new Event('change'));
        throw error;
      }
      throw new Error(`Not undone: ${change.places.map(({ path }) => path).join(' and ')} has changed since.`);
    }
    return change.title;
  }
}
