// What is known of a tree from changes of it, from the oldest on.
import { Obj } from './json.js';
import { compareKeys } from './keys.js';

/** A node: a value that is known as a whole, or children of which some are known. */
class Node {
  isWhole = false;
  leaf = null;
  priority = undefined;
  children = new Map();

  /** The node of a value; null is nothing. */
  static of(value) {
    const node = new Node();
    node.isWhole = true;
    if (!(value instanceof Obj)) { node.leaf = value; return node; }
    node.priority = value.get('.priority');
    if (value.has('.value')) { node.leaf = value.get('.value'); return node; }
    for (const [key, child] of value.entries) if (key !== '.priority') node.children.set(key, Node.of(child));
    return node;
  }

  /** Undefined where a part of it is not known. */
  get value() {
    if (!this.isWhole) return undefined;
    const { priority } = this;
    if (this.children.size === 0) {
      if (this.leaf === null || priority === undefined) return this.leaf;
      return new Obj([['.priority', priority], ['.value', this.leaf]]);
    }
    const entries = [];
    for (const [key, child] of this.children) {
      const value = child.value;
      if (value === undefined) return undefined;
      if (value !== null) entries.push([key, value]);
    }
    if (entries.length === 0) return null;
    entries.sort((a, b) => compareKeys(a[0], b[0]));
    return new Obj(priority === undefined ? entries : [['.priority', priority], ...entries]);
  }
}

export class KnownTree {
  root = new Node();

  /**
   * The value at a path, null if there is none, undefined if that is not known.
   * @param {string[]} keys
   */
  get(keys) {
    let node = this.root;
    for (const [index, key] of keys.entries()) {
      if (key === '.priority' && index === keys.length - 1) return node.isWhole ? node.priority ?? null : undefined;
      const child = node.children.get(key);
      if (!child) return node.isWhole ? null : undefined;
      node = child;
    }
    return node.value;
  }

  /**
   * Notes a change; `value` is undefined if it is not told.
   * @param {string[]} keys
   */
  set(keys, value) {
    let node = this.root;
    const last = keys.at(-1);
    const isPriority = last === '.priority';
    const path = isPriority ? keys.slice(0, -1) : keys;
    if (path.length === 0 && !isPriority) { this.root = Node.of(value ?? null); this.root.isWhole = value !== undefined; return; }
    for (const [index, key] of path.entries()) {
      const isLast = index === path.length - 1 && !isPriority;
      let child = node.children.get(key);
      if (isLast) { child = Node.of(value ?? null); child.isWhole = value !== undefined; }
      else if (!child) { child = new Node(); child.isWhole = node.isWhole; }
      // A child below a leaf makes it a node with children.
      if (value !== null) node.leaf = null;
      node.children.set(key, child);
      node = child;
    }
    if (isPriority) node.priority = value ?? undefined;
  }
}
