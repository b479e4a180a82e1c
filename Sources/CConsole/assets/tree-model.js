// What is shown of a database: nodes that were opened, with the pages of their children that were loaded.
import { Num, Obj } from './json.js';
import { compareKeys, keyBefore, pathText } from './keys.js';

const firstPage = 100;
const page = 1000;
/** Children of one node that are kept; far pages are dropped. */
const keptMax = 6000;
/** Rows that are asked for one by one after a change; with more, the part that is shown is read anew. */
const singlesMax = 12;

export class TreeNode {
  isOpen = false;
  isLoading = false;
  /** @type {TreeNode[] | null} children that are loaded, in order, without gaps */
  children = null;
  /** The key after which `children` begins; null for the beginning. */
  after = null;
  /** There are more behind the last one. */
  hasMore = false;
  problem = '';
  /** `added`, `changed` or `removed`, for a moment. */
  flash = null;

  constructor(key, parent) {
    this.key = key;
    this.parent = parent;
    this.level = parent ? parent.level + 1 : 0;
  }

  /** Takes what the server says of a value in short (administration.md 3). */
  take(data) {
    const before = this.summary;
    this.type = data.get('t') ?? 'object';
    this.value = data.get('v');
    this.priority = data.get('pri') ?? null;
    this.bytes = data.get('b')?.value;
    this.count = data.get('n')?.value;
    this.start = data.get('s');
    return before !== this.summary;
  }

  get hasChildren() { return this.type === 'object'; }
  get isLarge() { return this.hasChildren && this.value === undefined; }

  /** What of it is shown in one line. */
  get summary() {
    return [this.type, this.value instanceof Num ? this.value.text : this.value instanceof Obj
      ? this.value.entries.length + JSON.stringify(this.value) : this.value, this.bytes, this.count, this.start,
      this.priority instanceof Num ? this.priority.text : this.priority].join('\u0000');
  }

  /** @returns {string[]} */
  get keys() {
    const keys = [];
    for (let node = this; node.parent; node = node.parent) keys.unshift(node.key);
    return [...node_root(this).base, ...keys];
  }

  get path() { return pathText(this.keys); }

  /** Where a key stands among the children, or would. */
  place(key) {
    let [low, high] = [0, this.children.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareKeys(this.children[middle].key, key) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }

  child(key) {
    const found = this.children?.[this.place(key)];
    return found?.key === key ? found : undefined;
  }
}

function node_root(node) {
  let top = node;
  while (top.parent) top = top.parent;
  return top;
}

/** Events: `change`, when rows have changed; `live`, for each batch of commits, with `count`. */
export class TreeModel extends EventTarget {
  #dirty = new Map();
  #isFlushing = false;

  /**
   * @param {import('./socket.js').Connection} connection
   * @param {string[]} base
   */
  constructor(connection, base) {
    super();
    this.connection = connection;
    this.base = base;
    this.root = new TreeNode('', null);
    this.root.base = base;
    this.onTail = (event) => this.#committed(event.data);
    this.onReady = () => this.#reconnected();
    connection.addEventListener('push:tail', this.onTail);
    connection.addEventListener('ready', this.onReady);
  }

  close() {
    this.connection.removeEventListener('push:tail', this.onTail);
    this.connection.removeEventListener('ready', this.onReady);
  }

  #changed() { this.dispatchEvent(new Event('change')); }

  /** Rows from top to bottom: `{ node }`, or a place to load more at. */
  rows() {
    const rows = [];
    const visit = (node) => {
      rows.push({ kind: 'node', node });
      if (!node.isOpen || !node.hasChildren) return;
      if (node.after !== null) rows.push({ kind: 'earlier', node });
      for (const child of node.children ?? []) visit(child);
      if (node.hasMore || !node.children || node.problem) rows.push({ kind: 'more', node });
    };
    visit(this.root);
    return rows;
  }

  // Loading

  /** Reads the root anew. */
  async load() {
    this.root.isOpen = true;
    await this.#loadPage(this.root, this.root.after, firstPage);
  }

  async open(node) {
    node.isOpen = true;
    this.#changed();
    if (!node.children && node.hasChildren) await this.#loadPage(node, null, firstPage);
  }

  close_(node) {
    node.isOpen = false;
    node.children = null;
    node.after = null;
    node.hasMore = false;
    this.#changed();
  }

  /** @param {string | null} after */
  #ask(node, after, count) {
    return this.connection.admin('children', { p: node.path, k: after ?? undefined, n: count });
  }

  #adopt(node, list) {
    return list.map((data) => {
      const child = new TreeNode(data.get('k'), node);
      child.take(data);
      return child;
    });
  }

  /** Replaces the children that are loaded by those behind a key. */
  async #loadPage(node, after, count) {
    if (node.isLoading) return;
    node.isLoading = true;
    this.#changed();
    try {
      const answer = await this.#ask(node, after, count);
      node.take(answer);
      const fresh = this.#adopt(node, answer.get('c') ?? []);
      const known = new Map((node.children ?? []).map((child) => [child.key, child]));
      node.children = fresh.map((child) => {
        const old = known.get(child.key);
        if (!old) return child;
        Object.assign(old, {
          type: child.type, value: child.value, priority: child.priority, bytes: child.bytes, count: child.count,
          start: child.start,
        });
        return old;
      });
      node.after = after;
      node.hasMore = answer.has('next');
      node.problem = '';
    } catch (error) {
      node.problem = error.message;
    }
    node.isLoading = false;
    this.#changed();
  }

  /** The children behind those that are loaded. */
  async loadMore(node) {
    if (node.isLoading) return;
    if (!node.children || node.problem) { await this.#loadPage(node, node.after, firstPage); return; }
    if (!node.hasMore) return;
    node.isLoading = true;
    this.#changed();
    try {
      const answer = await this.#ask(node, node.children.at(-1)?.key ?? node.after, page);
      node.children.push(...this.#adopt(node, answer.get('c') ?? []));
      node.hasMore = answer.has('next');
      const surplus = node.children.length - keptMax;
      if (surplus > 0) {
        const dropped = node.children.splice(0, surplus);
        node.after = dropped.at(-1).key;
        const event = new Event('dropped');
        event.node = node;
        event.count = dropped.length;
        this.dispatchEvent(event);
      }
    } catch (error) {
      node.problem = error.message;
    }
    node.isLoading = false;
    this.#changed();
  }

  /** From the beginning. */
  fromStart(node) { return this.#loadPage(node, null, firstPage); }

  /** Children from a key on: the key itself, if there is one, or those that follow it. */
  async jump(node, key) {
    node.isOpen = true;
    await this.#loadPage(node, keyBefore(key), firstPage);
    return node.children?.find((child) => compareKeys(child.key, key) >= 0) ?? node.children?.at(-1);
  }

  // Live

  async watch() { await this.connection.admin('tail', { on: true }); }

  async #reconnected() {
    try { await this.watch(); } catch { return; }
    // Anything may have happened meanwhile.
    await this.refresh();
  }

  /** Reads all that is shown anew. */
  async refresh(node = this.root) {
    if (!node.isOpen) return;
    await this.#reread(node, null);
    for (const child of node.children ?? []) if (child.isOpen) await this.refresh(child);
  }

  #committed(news) {
    const entries = news.get('entries') ?? [];
    if (news.has('others')) this.refresh();
    for (const entry of entries) {
      const who = entry.get('uid') ?? '';
      for (const change of entry.get('changes') ?? []) this.#note(change.get('path'), who);
      if (entry.has('more')) this.refresh();
    }
    const event = new Event('live');
    event.count = entries.length;
    this.dispatchEvent(event);
    this.#flush();
  }

  /** Finds the row that a change concerns: the deepest that is shown on the way to it. */
  #note(path, who) {
    const keys = path.split('/').filter(Boolean);
    if (keys.at(-1) === '.priority') keys.pop();
    for (let index = 0; index < this.base.length; index += 1) {
      if (index === keys.length) { this.#mark(this.root, null, who); return; }
      if (keys[index] !== this.base[index]) return;
    }
    let node = this.root;
    for (const key of keys.slice(this.base.length)) {
      if (!node.isOpen || !node.children) break;
      const child = node.child(key);
      if (!child) { this.#mark(node, key, who); return; }
      if (!child.isOpen || !child.children) { this.#mark(node, key, who); return; }
      node = child;
    }
    this.#mark(node, null, who);
    if (node.parent) this.#mark(node.parent, node.key, who);
  }

  /** Without a key, all of the node's children. */
  #mark(node, key, who) {
    const keys = this.#dirty.get(node) ?? new Map();
    keys.set(key, who);
    this.#dirty.set(node, keys);
  }

  async #flush() {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    while (this.#dirty.size > 0) {
      const [[node, keys]] = this.#dirty;
      this.#dirty.delete(node);
      try {
        if (keys.has(null) || keys.size > singlesMax) await this.#reread(node, [...keys.values()][0], keys);
        else for (const [key, who] of keys) await this.#rereadChild(node, key, who);
      } catch { /* The connection was lost: all is read anew when it is back. */ }
    }
    this.#isFlushing = false;
  }

  /** Reads the part of a node that is loaded anew, and marks what is different. */
  async #reread(node, who, keys) {
    if (!node.children) {
      if (node.isOpen) await this.#loadPage(node, null, firstPage);
      return;
    }
    const wanted = Math.max(node.children.length, firstPage);
    const fresh = [];
    let [after, answer] = [node.after, null];
    do {
      answer = await this.#ask(node, after, Math.min(page, wanted - fresh.length));
      fresh.push(...this.#adopt(node, answer.get('c') ?? []));
      after = fresh.at(-1)?.key ?? after;
    } while (answer.has('next') && fresh.length < wanted);
    node.take(answer);
    const isWatched = who !== null && who !== undefined;
    const known = new Map((node.children ?? []).map((child) => [child.key, child]));
    const now = new Set(fresh.map((child) => child.key));
    node.children = fresh.map((child) => {
      const old = known.get(child.key);
      if (!old) {
        if (isWatched) this.#flash(child, 'added', keys?.get(child.key) ?? who);
        return child;
      }
      const isDifferent = old.summary !== child.summary;
      Object.assign(old, {
        type: child.type, value: child.value, priority: child.priority, bytes: child.bytes, count: child.count,
        start: child.start,
      });
      if (isWatched && (isDifferent || keys?.has(child.key))) this.#flash(old, 'changed', keys?.get(child.key) ?? who);
      return old;
    });
    node.hasMore = answer.has('next');
    if (isWatched && fresh.length < 200) {
      for (const old of known.values()) if (!now.has(old.key)) this.#removed(node, old, who);
    }
    this.#changed();
  }

  /** Asks for one child, by asking for what follows its neighbour. */
  async #rereadChild(node, key, who) {
    if (!node.children) return;
    if (node.after !== null && compareKeys(key, node.after) <= 0) return;
    const place = node.place(key);
    if (place === node.children.length && node.hasMore) return;
    let after = place > 0 ? node.children[place - 1].key : node.after;
    for (let tries = 0; tries < 20; tries += 1) {
      const answer = await this.#ask(node, after, 1);
      if (node === this.root || node.type !== 'object') node.take(answer);
      const data = answer.get('c')?.[0];
      if (!data || compareKeys(data.get('k'), key) > 0) break;
      this.#upsert(node, data, data.get('k') === key ? who : '');
      if (data.get('k') === key) { this.#changed(); return; }
      after = data.get('k');
    }
    const old = node.child(key);
    if (!old) return;
    node.children.splice(node.place(key), 1);
    this.#removed(node, old, who);
    // A parent without children is gone too.
    if (node.children.filter((child) => child.flash?.kind !== 'removed').length === 0 && node.parent) {
      this.#mark(node.parent, node.key, who);
    }
    this.#changed();
  }

  #upsert(node, data, who) {
    const old = node.child(data.get('k'));
    if (old) {
      const wasOpen = old.isOpen;
      const isDifferent = old.take(data);
      if (old.gone) old.gone = false;
      if (isDifferent || !wasOpen) this.#flash(old, 'changed', who);
      if (!old.hasChildren) Object.assign(old, { isOpen: false, children: null });
      return;
    }
    const child = new TreeNode(data.get('k'), node);
    child.take(data);
    node.children.splice(node.place(child.key), 0, child);
    this.#flash(child, 'added', who);
  }

  /** The row stays for a moment, struck through. */
  #removed(node, old, who) {
    old.isOpen = false;
    old.children = null;
    old.gone = true;
    node.children.splice(node.place(old.key), 0, old);
    this.#flash(old, 'removed', who, () => {
      if (!old.gone) return;
      const place = node.children?.indexOf(old) ?? -1;
      if (place >= 0) node.children.splice(place, 1);
      this.#changed();
    });
  }

  #flash(node, kind, who, then) {
    node.flash = { kind, who, at: performance.now() };
    const own = node.flash;
    setTimeout(() => {
      if (node.flash === own) node.flash = null;
      then?.();
      this.#changed();
    }, 1500);
  }
}
