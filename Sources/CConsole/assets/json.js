// JSON without loss: numbers keep their digits, objects the order of their members, and any key is a key.

/** A number as it is spelled. */
export class Num {
  /** @param {string} text */
  constructor(text) { this.text = text; }
  get value() { return Number(this.text); }
}

/** The members of an object, in order. */
export class Obj {
  /** @param {[string, any][]} entries */
  constructor(entries = []) { this.entries = entries; }
  /** @param {string} key */
  get(key) { return this.entries.find((entry) => entry[0] === key)?.[1]; }
  has(key) { return this.entries.some((entry) => entry[0] === key); }
  get size() { return this.entries.length; }
}

/** Where a text is no JSON. */
export class JSONError extends Error {
  constructor(message, offset) {
    super(`${message} at character ${offset + 1}`);
    this.offset = offset;
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const plainText = /[^"\\\u0000-\u001f]*/y;
const escapes = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * @param {string} text
 * @returns {null | boolean | string | Num | Obj | any[]}
 */
export function parse(text) {
  let at = 0;
  const fail = (message) => { throw new JSONError(message, at); };
  const space = () => { while (at < text.length && ' \t\n\r'.includes(text[at])) at += 1; };
  const word = (name, value) => {
    if (!text.startsWith(name, at)) fail('expected a value');
    at += name.length;
    return value;
  };
  function string() {
    at += 1;
    let out = '';
    for (;;) {
      plainText.lastIndex = at;
      const run = plainText.exec(text)[0];
      out += run;
      at += run.length;
      const next = text[at];
      if (next === '"') { at += 1; return out; }
      if (next !== '\\') fail(next === undefined ? 'a string has no end' : 'a control character must be escaped');
      const kind = text[at + 1];
      if (kind === 'u') {
        const code = text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(code)) fail('an invalid escape');
        out += String.fromCharCode(parseInt(code, 16));
        at += 6;
      } else if (Object.hasOwn(escapes, kind ?? '')) {
        out += escapes[kind];
        at += 2;
      } else fail('an invalid escape');
    }
  }
  function value(depth) {
    if (depth > 200) fail('too deep');
    space();
    switch (text[at]) {
      case '{': {
        const entries = [];
        at += 1;
        space();
        if (text[at] === '}') { at += 1; return new Obj(entries); }
        for (;;) {
          space();
          if (text[at] !== '"') fail('expected a key in quotes');
          const key = string();
          space();
          if (text[at] !== ':') fail('expected a colon');
          at += 1;
          entries.push([key, value(depth + 1)]);
          space();
          if (text[at] === ',') { at += 1; continue; }
          if (text[at] === '}') { at += 1; return new Obj(entries); }
          fail('expected a comma or a brace');
        }
      }
      case '[': {
        const list = [];
        at += 1;
        space();
        if (text[at] === ']') { at += 1; return list; }
        for (;;) {
          list.push(value(depth + 1));
          space();
          if (text[at] === ',') { at += 1; continue; }
          if (text[at] === ']') { at += 1; return list; }
          fail('expected a comma or a bracket');
        }
      }
      case '"': return string();
      case 't': return word('true', true);
      case 'f': return word('false', false);
      case 'n': return word('null', null);
      default: {
        number.lastIndex = at;
        const found = number.exec(text);
        if (!found) fail('expected a value');
        at += found[0].length;
        return new Num(found[0]);
      }
    }
  }
  const result = value(0);
  space();
  if (at < text.length) fail('more text than one value');
  return result;
}

/** JSON text of what `parse` answers, and of plain objects, whose members without a value are left out. */
export function stringify(value, indent = 0, level = 0) {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Num) return value.text;
  if (typeof value !== 'object') return JSON.stringify(value);
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item) => [null, item])
    : value instanceof Obj ? value.entries : Object.entries(value).filter((entry) => entry[1] !== undefined);
  if (entries.length === 0) return isList ? '[]' : '{}';
  const [line, end] = indent
    ? ['\n' + ' '.repeat(indent * (level + 1)), '\n' + ' '.repeat(indent * level)] : ['', ''];
  const items = entries.map(([key, item]) =>
    (isList ? '' : JSON.stringify(key) + (indent ? ': ' : ':')) + stringify(item, indent, level + 1));
  return (isList ? '[' : '{') + line + items.join(',' + line) + end + (isList ? ']' : '}');
}

/** The same as ordinary values, for answers whose numbers are counts and times. */
export function plain(value) {
  if (value instanceof Num) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Obj)) return value;
  const object = Object.create(null);
  for (const [key, item] of value.entries) object[key] = plain(item);
  return object;
}
