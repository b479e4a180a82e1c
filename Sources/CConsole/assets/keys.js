// Keys and paths: their order, what is allowed in them, and how they are shown (Protocol.md 7.4 and 7.5).

const integerKey = /^-?0*\d{1,10}$/;

function integer(key) {
  if (!integerKey.test(key)) return null;
  const value = Number(key);
  return value >= -2147483648 && value <= 2147483647 ? value : null;
}

/** Negative if `a` comes before `b`. */
export function compareKeys(a, b) {
  if (a === b) return 0;
  const [x, y] = [integer(a), integer(b)];
  if (x !== null && y !== null) return x - y || a.length - b.length || (a < b ? -1 : 1);
  if (x !== null) return -1;
  if (y !== null) return 1;
  return a < b ? -1 : 1;
}

/** A key that comes before `key`, with few keys between them, so that a page behind it begins there or just before. */
export function keyBefore(key) {
  const value = integer(key);
  if (value !== null) return value > -2147483648 ? String(value - 1) : null;
  const last = key.charCodeAt(key.length - 1);
  const rest = key.slice(0, -1);
  // A surrogate alone is no text; what follows the rest is near enough.
  if (last <= 0x20 || last === 0xe000 || (last >= 0xd800 && last <= 0xdfff)) return rest || null;
  let before = last - 1;
  while ('.$#[]/\u007f'.includes(String.fromCharCode(before))) before -= 1;
  return rest + String.fromCharCode(before) + '\uffee'.repeat(4);
}

const encoder = new TextEncoder();

/** Why a text is no key; null if it is one. */
export function keyProblem(key) {
  if (key === '') return 'a key needs a character';
  const bad = /[.$#[\]/\u0000-\u001f\u007f]/.exec(key);
  if (bad) {
    const shown = bad[0] > ' ' && bad[0] !== '\u007f' ? bad[0] : 'a control character';
    return `a key cannot contain ${shown}`;
  }
  const bytes = encoder.encode(key).length;
  return bytes > 768 ? `a key has 768 bytes at most; this one has ${bytes}` : null;
}

/** Keys of a path, from `/a/b`, a URL of the data, or an address of this page. */
export function readPath(text) {
  let rest = text.trim();
  const url = /^[a-z]+:\/\/[^/]*(\/[^?#]*)?/i.exec(rest);
  if (url) {
    rest = (url[1] ?? '/').replace(/\.json$/, '');
    return rest.split('/').filter(Boolean).map((part) => {
      try { return decodeURIComponent(part); } catch { return part; }
    });
  }
  return rest.split('/').filter(Boolean);
}

/** @param {string[]} keys */
export const pathText = (keys) => '/' + keys.join('/');

const pushAlphabet = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

/** When a push id was made, or null for other keys. */
export function pushTime(key) {
  if (!/^-[-0-9A-Z_a-z]{19}$/.test(key)) return null;
  let milliseconds = 0;
  for (const character of key.slice(0, 8)) milliseconds = milliseconds * 64 + pushAlphabet.indexOf(character);
  const date = new Date(milliseconds);
  const year = date.getUTCFullYear();
  return year >= 2012 && year <= new Date().getUTCFullYear() + 1 ? date : null;
}

let lastTime = 0;
let lastRandom = [];

/** A new push id. */
export function makePushID(now = Date.now()) {
  const repeats = now === lastTime;
  lastTime = now;
  if (repeats) {
    for (let place = 11; place >= 0; place -= 1) {
      lastRandom[place] = (lastRandom[place] + 1) % 64;
      if (lastRandom[place] !== 0) break;
    }
  } else {
    lastRandom = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte % 64);
  }
  let time = '';
  for (let place = 0, rest = now; place < 8; place += 1, rest = Math.floor(rest / 64)) {
    time = pushAlphabet[rest % 64] + time;
  }
  return time + lastRandom.map((index) => pushAlphabet[index]).join('');
}

/** Marks what cannot be seen: blanks at the ends, and characters that turn the direction of text. */
export function visible(text) {
  return text
    .replace(/^ +| +$/g, (blanks) => '␣'.repeat(blanks.length))
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (character) =>
      `⟨${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
