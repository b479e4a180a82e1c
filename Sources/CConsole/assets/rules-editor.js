// A text field that shows what is typed in colours, with line numbers and marks. Only lines in view are drawn.
import { h } from './dom.js';
import { lexLine } from './rules-lexer.js';

const lineHeight = 20;
const padding = 6;

/** Events: `input`. */
export class RulesEditor extends EventTarget {
  /** Whether a comment goes on at the start of each line. */
  #starts = [false];
  #lines = [''];
  /** @type {{ line: number, column: number, message: string } | null} from 1 */
  problem = null;

  /** @param {string} name what is edited */
  constructor(name) {
    super();
    this.gutter = h('pre.gutter', { 'aria-hidden': 'true' });
    this.paint = h('pre.paint', { 'aria-hidden': 'true' });
    this.area = h('textarea', {
      'aria-label': name[0].toUpperCase() + name.slice(1), spellcheck: false, autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-describedby': `${name}-problem ${name}-keys`,
      oninput: () => { this.problem = null; this.#changed(); this.dispatchEvent(new Event('input')); },
      onscroll: () => this.draw(), onkeydown: (event) => this.#key(event),
    });
    this.element = h('div.editor', {}, this.gutter, h('div.surface', {}, this.paint, this.area));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  get text() { return this.area.value; }
  set text(value) {
    this.area.value = value;
    this.problem = null;
    this.#changed();
  }

  #changed() {
    this.#lines = this.area.value.split('\n');
    this.#starts = [false];
    this.draw();
  }

  /** Whether a comment goes on at a line: looked at once for each line on the way. */
  #start(index) {
    for (let line = this.#starts.length - 1; line < index; line += 1) {
      this.#starts.push(lexLine(this.#lines[line], this.#starts[line]).inComment);
    }
    return this.#starts[index];
  }

  mark(problem) {
    // The server counts characters, not code units.
    this.problem = problem && { ...problem, column: this.#unit(problem.line, problem.column) };
    this.area.setAttribute('aria-invalid', String(problem !== null));
    this.draw();
  }

  #unit(line, column) { return [...(this.#lines[line - 1] ?? '')].slice(0, column - 1).join('').length + 1; }

  goTo(line, character = 1) {
    const column = this.#unit(line, character);
    const before = this.#lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(before + column - 1, before + column - 1);
    this.area.scrollTop = Math.max(0, (line - 5) * lineHeight);
    this.draw();
  }

  /** Tab indents only after Enter was pressed in the field with Ctrl+M, as Tab alone must lead out of it. */
  #key(event) {
    if (event.key === 'm' && event.ctrlKey) {
      this.indents = !this.indents;
      event.preventDefault();
    } else if (event.key === 'Tab' && this.indents && !event.shiftKey) {
      // The only way that keeps the browser's own undo.
      document.execCommand('insertText', false, '  ');
      event.preventDefault();
    } else if (event.key === 'Escape') this.indents = false;
  }

  draw() {
    const top = this.area.scrollTop;
    const first = Math.max(0, Math.floor(top / lineHeight) - 1);
    const last = Math.min(this.#lines.length, first + Math.ceil(this.area.clientHeight / lineHeight) + 2);
    const numbers = [];
    const drawn = [];
    for (let index = first; index < last; index += 1) {
      const isWrong = this.problem?.line === index + 1;
      numbers.push(h(isWrong ? 'div.wrong' : 'div', {}, `${isWrong ? '! ' : ''}${index + 1}`));
      drawn.push(h('div', {}, this.#line(index, isWrong ? this.problem.column - 1 : -1), this.#lines[index] ? '' : '\u200b'));
    }
    this.gutter.replaceChildren(...numbers);
    this.paint.replaceChildren(...drawn);
    const shift = first * lineHeight - top;
    for (const [element, left] of [[this.gutter, 0], [this.paint, -this.area.scrollLeft]]) {
      for (const child of element.children) child.style.transform = `translate(${left}px, ${shift}px)`;
    }
  }

  #line(index, wrong) {
    const parts = [];
    let at = 0;
    for (const [kind, text] of lexLine(this.#lines[index], this.#start(index)).tokens) {
      const isWrong = wrong >= at && wrong < at + text.length;
      parts.push(h(`span${kind ? `.t-${kind}` : ''}${isWrong ? '.t-wrong' : ''}`, {}, text));
      at += text.length;
    }
    if (wrong >= at) parts.push(h('span.t-wrong', {}, '\u00a0'));
    return parts;
  }
}

export { lineHeight, padding };
