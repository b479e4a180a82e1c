// Entering a value: its type is chosen, never guessed.
import { choice, h } from './dom.js';
import { Num, Obj, parse, stringify } from './json.js';

const types = [['string', 'string'], ['number', 'number'], ['boolean', 'boolean'], ['json', 'JSON'],
  ['timestamp', 'server time'], ['increment', 'increment'], ['null', 'null (removes)']];

const sv = (content) => new Obj([['.sv', content]]);

/** The type of the form that shows a value. */
export function typeOf(value) {
  if (value === null) return 'null';
  if (value instanceof Num) return 'number';
  return typeof value === 'object' ? 'json' : typeof value;
}

const textOf = (value) => (typeof value === 'string' ? value : value instanceof Num ? value.text
  : typeof value === 'object' ? stringify(value, 2) : String(value));

/** The value that a text of a type stands for. */
export function readValue(type, text) {
  switch (type) {
    case 'string': return text;
    case 'number': case 'increment': {
      let value;
      try { value = parse(text.trim()); } catch { value = null; }
      if (!(value instanceof Num)) throw new Error('A number is written like 12, -0.5 or 1e9.');
      if (!Number.isFinite(value.value)) throw new Error('This number is too large.');
      return type === 'number' ? value : sv(new Obj([['increment', value]]));
    }
    case 'boolean': return text === 'true';
    case 'timestamp': return sv('timestamp');
    case 'null': return null;
    default: return parse(text);
  }
}

/** Controls for a value; `read()` answers it or throws, and `multiline` gives JSON and text room. */
export function valueForm(value, { multiline = false, label = 'Value' } = {}) {
  // A control would drop CR, JSON keeps it.
  const first = typeof value === 'string' && value.includes('\r') ? 'json' : typeOf(value);
  const kind = choice(multiline || first !== 'json' ? types : types, first, { 'aria-label': 'Type' });
  const input = multiline
    ? h('textarea', { 'aria-label': label, rows: 10, spellcheck: false, wrap: 'off' })
    : h('input', { type: 'text', 'aria-label': label, spellcheck: false, autocomplete: 'off' });
  const truth = choice([['true', 'true'], ['false', 'false']], String(value === true), { 'aria-label': label });
  input.value = value === null ? '' : first === 'json' ? stringify(value, 2) : textOf(value);
  // Controls change line breaks: a text that nobody has edited stays as it is.
  const shown = input.value;
  const show = () => {
    const type = kind.value;
    truth.hidden = type !== 'boolean';
    input.hidden = ['boolean', 'timestamp', 'null'].includes(type);
    input.inputMode = type === 'number' || type === 'increment' ? 'decimal' : 'text';
  };
  kind.addEventListener('change', () => { show(); (truth.hidden ? input : truth).focus(); });
  show();
  return {
    parts: [kind, input, truth],
    focus() { const control = !truth.hidden ? truth : !input.hidden ? input : kind; control.focus(); control.select?.(); },
    read() {
      if (kind.value === 'boolean') return readValue('boolean', truth.value);
      return kind.value === first && input.value === shown ? value : readValue(kind.value, input.value);
    },
  };
}
