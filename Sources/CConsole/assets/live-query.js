// A query with conditions that is kept up to date (Protocol.md 18.3): its children in their order, or its aggregates.
import { report } from './dom.js';

let tags = 0;

export class LiveQuery {
  /**
   * @param {(entries: [string, any][]) => void} showItems
   * @param {(figures: any) => void} showFigures
   */
  constructor(connection, path, query, showItems, showFigures) {
    tags += 1;
    Object.assign(this, { connection, path, query, showItems, showFigures, tag: tags, isAggregate: query.has('aggregate') });
    this.push = this.isAggregate ? 'push:d' : 'push:ev';
    this.take = (event) => { if (event.body.get('t')?.value === this.tag) this.#take(event.data); };
    // A connection that comes back has no listeners.
    this.listen = () => this.#listen().catch(report);
    connection.addEventListener(this.push, this.take);
    connection.addEventListener('ready', this.listen);
  }

  /** Resolves when the first result has been shown. */
  start() { return this.#listen(); }

  async #listen() {
    this.items = [];
    const events = ['childAdded', 'childChanged', 'childMoved', 'childRemoved'];
    await this.connection.request('cq', { p: this.path, q: this.query, t: this.tag, e: this.isAggregate ? undefined : events });
  }

  #take(data) {
    if (this.isAggregate) {
      this.showFigures(data);
      return;
    }
    for (const event of data) {
      const [kind, key] = [event.get('e'), event.get('k')];
      const old = this.items.findIndex(([one]) => one === key);
      if (kind === 'childChanged') {
        this.items[old][1] = event.get('v');
        continue;
      }
      if (old >= 0) this.items.splice(old, 1);
      if (kind === 'childRemoved') continue;
      const before = event.get('prev');
      const place = before === null ? 0 : this.items.findIndex(([one]) => one === before) + 1;
      this.items.splice(place, 0, [key, event.get('v')]);
    }
    this.showItems(this.items);
  }

  end() {
    this.connection.removeEventListener(this.push, this.take);
    this.connection.removeEventListener('ready', this.listen);
    const ending = this.isAggregate ? this.connection.request('n', { p: this.path, t: this.tag }) : this.connection.request('nev', { t: this.tag });
    // Without a connection there is no listener either.
    ending.catch(() => {});
  }
}
