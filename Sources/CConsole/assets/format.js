// Figures and times for people.
import { Num, Obj, stringify } from './json.js';

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count) {
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export const whole = (count) => Math.round(count).toLocaleString('en');

export function count(value) {
  if (value < 1000) return String(Math.round(value * 10) / 10);
  if (value < 1e6) return `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)} k`;
  return `${(value / 1e6).toFixed(1)} M`;
}

export function duration(microseconds) {
  if (microseconds < 1000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1e3).toFixed(1)} ms`;
  return `${(microseconds / 1e6).toFixed(1)} s`;
}

export function span(seconds) {
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const found = [];
  let rest = Math.floor(seconds);
  for (const [size, name] of parts) {
    if (rest >= size) found.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
  }
  return found.slice(0, 2).join(' ') || '0 s';
}

/** In local time. */
export function time(milliseconds) {
  const date = new Date(Number(milliseconds));
  if (Number.isNaN(date.getTime())) return '';
  const two = (part) => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
    + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** What a number might be as a time, for a tooltip; empty for others. */
export function timeOf(number) {
  const value = Number(number);
  if (!Number.isInteger(value)) return '';
  if (value >= 1e12 && value < 4e12) return new Date(value).toISOString();
  if (value >= 1e9 && value < 4e9) return new Date(value * 1000).toISOString();
  return '';
}

const shownMax = 300;

/** A value in one line: its text, its kind, and whether that is all of it. */
export function short(node) {
  const { type, value } = node;
  if (value instanceof Obj) {
    const text = stringify(value);
    return { kind: 'object', text: text.length > shownMax ? text.slice(0, shownMax) + '…' : text };
  }
  if (value === undefined) {
    if (type === 'string') return { kind: 'string', text: `${JSON.stringify(node.start ?? '')}… ${bytes(node.bytes ?? 0)}` };
    const parts = [];
    if (node.count !== undefined) parts.push(node.count === 1 ? '1 child' : `${whole(node.count)} children`);
    if (node.bytes !== undefined) parts.push(bytes(node.bytes));
    return { kind: 'object', text: parts.length ? `{ ${parts.join(', ')} }` : '{ large }' };
  }
  if (value instanceof Num) return { kind: 'number', text: value.text, title: timeOf(value.text) };
  if (value === null) return { kind: 'null', text: 'null' };
  return { kind: type, text: JSON.stringify(value) };
}
