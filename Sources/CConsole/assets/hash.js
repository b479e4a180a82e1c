// The hash of a value (Protocol.md 8), by which a write is made only if nothing has changed since.
import { Num, Obj } from './json.js';
import { compareKeys } from './keys.js';

function double(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}

function leaf(value) {
  if (value instanceof Num) return 'number:' + double(value.value);
  return typeof value === 'boolean' ? `boolean:${value}` : `string:${value}`;
}

async function digest(text) {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...bytes));
}

const priorityOf = (value) => (value instanceof Obj ? value.get('.priority') ?? null : null);

function comparePriorities(a, b) {
  const rank = (priority) => (priority === null ? 0 : priority instanceof Num ? 1 : 2);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (a instanceof Num) return a.value - b.value;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A value as the database keeps it: lists are objects, and there is nothing that is empty. */
export function asKept(value) {
  if (Array.isArray(value)) return asKept(new Obj(value.map((child, index) => [String(index), child])));
  if (!(value instanceof Obj)) return value;
  const members = new Map(value.entries.map(([key, child]) => [key, asKept(child)]).filter(([, child]) => child !== null));
  if (members.has('.value')) {
    return members.has('.priority') ? new Obj([...members]) : members.get('.value');
  }
  return members.size > (members.has('.priority') ? 1 : 0) ? new Obj([...members]) : null;
}

/** The hash of a value with its priorities, as `g` answers it; empty for null. */
export async function hashOf(value) {
  if (value === null) return '';
  const priority = priorityOf(value);
  const front = priority === null ? '' : `priority:${leaf(priority)}:`;
  if (!(value instanceof Obj)) return digest(leaf(value));
  if (value.has('.value')) return digest(front + leaf(value.get('.value')));
  const children = value.entries.filter(([key]) => key !== '.priority');
  children.sort((a, b) => comparePriorities(priorityOf(a[1]), priorityOf(b[1])) || compareKeys(a[0], b[0]));
  let text = front;
  for (const [key, child] of children) text += `:${key}:${await hashOf(child)}`;
  return digest(text);
}
