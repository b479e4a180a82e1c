// The tree on the screen: an ARIA treegrid that has elements for the rows in view only.
import { foreign, h, set } from './dom.js';
import { short, time } from './format.js';
import { pushTime, visible } from './keys.js';

const rowHeight = 28;
const spare = 8;
/** Browsers draw no taller elements. */
const heightMax = 10_000_000;

const signs = { added: '+', changed: '~', removed: '−' };

/** Events: `select`; `action`, with `name` and `node`. */
export class TreeView extends EventTarget {
  #rows = [];
  #elements = new Map();
  #isDrawing = false;
  #editing = null;
  /** The row that has, or had, the focus. */
  selected = null;
  /** @param {import('./tree-model.js').TreeModel} model */
  constructor(model) {
    super();
    this.model = model;
    this.spacer = h('div.rows', { role: 'presentation' });
    this.element = h('div.tree', {
      role: 'treegrid', 'aria-label': 'Data', 'aria-colcount': 2, tabIndex: -1,
      onscroll: () => this.draw(), onkeydown: (event) => this.#key(event),
      onclick: (event) => this.#click(event), ondblclick: (event) => this.#doubleClick(event),
    }, this.spacer);
    this.selected = model.root;
    this.onChange = () => { this.#rows = null; this.draw(); };
    model.addEventListener('change', this.onChange);
    model.addEventListener('dropped', (event) => this.#dropped(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  close() {
    this.observer.disconnect();
    this.model.removeEventListener('change', this.onChange);
  }

  /** Set by an editor: the row whose value is being edited, and its form. */
  get editing() { return this.#editing; }

  set editing(editing) {
    this.#editing = editing;
    this.#rows = null;
  }

  /** Draws with the next frame. */
  draw() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#drawNow();
    });
  }

  rows() {
    if (!this.#rows) {
      this.anchor();
      this.#rows = this.model.rows();
      this.#keepEdited();
      this.#restore();
    }
    return this.#rows;
  }

  /** The row that is being edited stays, with what was typed, even if others have removed it. */
  #keepEdited() {
    if (!this.#editing) return;
    const { node } = this.#editing;
    const isSame = (row) => row.kind === 'node' && row.node.key === node.key && row.node.path === node.path;
    const found = this.#rows.find(isSame);
    // What was removed and made again has another node.
    if (found) {
      if (this.selected === node) this.selected = found.node;
      this.#editing.node = found.node;
      return;
    }
    const above = [];
    for (let { parent } = node; parent; parent = parent.parent) above.push(parent);
    // Somebody has closed a node above it here.
    if (above.some((other) => other.hasChildren && !other.isOpen && !other.gone)) return;
    const isGone = node.gone || above.some((other) => other.gone || !other.hasChildren);
    const index = this.lastRows?.findIndex(isSame) ?? -1;
    this.#rows.splice(index < 0 ? this.#rows.length : index, 0, { kind: 'node', node, isGone });
  }

  /** Remembers the first row in view, so that what is inserted above it does not move it. */
  anchor() {
    const last = this.lastRows;
    if (!last || this.element.scrollTop === 0) { this.anchored = null; return; }
    const index = Math.floor(this.element.scrollTop / rowHeight);
    this.anchored = last[index] ? { row: last[index], offset: this.element.scrollTop - index * rowHeight } : null;
  }

  #restore() {
    this.lastRows = this.#rows;
    this.spacer.style.height = `${Math.min(this.#rows.length * rowHeight, heightMax)}px`;
    if (!this.anchored) return;
    const { row, offset } = this.anchored;
    const index = this.#rows.findIndex((other) => other.node === row.node && other.kind === row.kind);
    if (index >= 0) this.element.scrollTop = index * rowHeight + offset;
  }

  #dropped() { /* The anchor keeps the view where it is. */ }

  #drawNow() {
    const rows = this.rows();
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const last = Math.min(rows.length, first + Math.ceil(this.element.clientHeight / rowHeight) + 2 * spare);
    const kept = new Set();
    set(this.element, { 'aria-rowcount': this.#isComplete(rows) ? rows.length : -1 });
    if (!rows.some((row) => row.node === this.selected)) this.selected = this.model.root;
    const draw = (index) => {
      const row = rows[index];
      const id = row.kind === 'node' ? row.node : `${row.kind} ${row.node.path}`;
      kept.add(id);
      let element = this.#elements.get(id);
      if (!element) {
        element = h('div.row', { role: 'row' });
        this.#elements.set(id, element);
        this.spacer.append(element);
      }
      element.row = row;
      element.style.transform = `translateY(${index * rowHeight}px)`;
      set(element, { 'aria-rowindex': index + 1 });
      this.#fill(element, row);
    };
    for (let index = first; index < last; index += 1) draw(index);
    // The row with the focus, or an editor, must stay.
    for (const node of [this.selected, this.editing?.node]) {
      if (!node || kept.has(node)) continue;
      const index = rows.findIndex((row) => row.node === node && row.kind === 'node');
      if (index >= 0) draw(index);
    }
    for (const [id, element] of this.#elements) {
      if (kept.has(id)) continue;
      if (element.contains(document.activeElement)) this.element.focus();
      element.remove();
      this.#elements.delete(id);
    }
    // What comes into view is loaded.
    for (const row of rows.slice(first, last)) {
      if (row.kind === 'more' && !row.node.problem && !row.node.isLoading) this.model.loadMore(row.node);
    }
  }

  #isComplete(rows) { return !rows.some((row) => row.kind !== 'node'); }

  #fill(element, { kind, node, isGone = node.gone }) {
    if (kind !== 'node') return this.#fillEdge(element, kind, node);
    const isSelected = node === this.selected;
    const flash = node.flash && performance.now() - node.flash.at < 1500 ? node.flash : null;
    const state = [node.summary, node.isOpen, isSelected, flash?.at, node.isLoading, this.editing?.node === node,
      node.level, isGone, Boolean(node.children?.length)].join('\u0001');
    set(element, { tabIndex: isSelected ? 0 : -1 });
    if (element.state === state) return undefined;
    element.state = state;
    element.className = `row${isSelected ? ' selected' : ''}${flash ? ` flash-${flash.kind}` : ''}${isGone ? ' gone' : ''}`;
    set(element, {
      'aria-level': node.level + 1, 'aria-selected': String(isSelected),
      'aria-expanded': node.hasChildren ? String(node.isOpen) : null,
    });
    const made = node.parent ? pushTime(node.key) : null;
    const name = node.parent ? visible(node.key) : this.model.base.at(-1) ?? '/';
    const keyCell = h('div.key', { role: 'rowheader', title: made ? `made ${made.toISOString()}` : '' },
      h('span.twisty', { 'aria-hidden': 'true' }, node.hasChildren ? (node.isOpen ? '▾' : '▸') : ''),
      foreign(node.parent ? name : visible(name), { className: 'name' }),
      made && h('time.made', { dateTime: made.toISOString() }, time(made.getTime())),
      node.priority !== null && node.priority !== undefined
        && h('span.chip', { title: 'Priority' }, 'priority ', foreign(visible(String(node.priority.text ?? node.priority)))));
    keyCell.style.paddingInlineStart = `${node.level * 18 + 6}px`;
    const form = this.editing?.node === node ? this.editing.form : null;
    // A form that is moved loses the focus.
    const isKept = form !== null && element.contains(form);
    const focus = form?.contains(document.activeElement) ? document.activeElement : null;
    const valueCell = isKept ? form.parentElement : h('div.value', { role: 'gridcell' });
    if (isKept) valueCell.querySelector('.by')?.remove();
    else if (form) valueCell.append(form);
    else if (node.isLoading && !node.children) valueCell.append(h('span.muted', {}, 'loading…'));
    else if (!(node.isOpen && node.children?.length)) {
      const { kind: type, text, title } = short(node);
      valueCell.append(foreign(visible(text), { className: `v ${type}`, title: title ?? '' }));
    }
    if (flash) {
      valueCell.append(h('span.by', {}, signs[flash.kind], ' ', h('span.hidden', {}, flash.kind),
        flash.who && [' by ', foreign(visible(flash.who))]));
    }
    if (isKept) element.querySelector('.key').replaceWith(keyCell);
    else element.replaceChildren(keyCell, valueCell);
    if (form && !isKept) focus?.focus();
    if (form) this.editing.shown?.();
    return undefined;
  }

  #fillEdge(element, kind, node) {
    const shown = node.children?.length ?? 0;
    const text = node.problem ? `${node.problem} — try again` : node.isLoading ? 'loading…'
      : kind === 'more' ? `${shown.toLocaleString('en')} shown, more follow` : 'earlier children: back to the beginning';
    if (element.state === text) return;
    element.state = text;
    element.className = 'row edge';
    const cell = h('div.key', { role: 'gridcell' },
      h('button.link', { type: 'button', tabIndex: -1, onclick: () => this.#edge(kind, node) }, text));
    cell.style.paddingInlineStart = `${(node.level + 1) * 18 + 24}px`;
    element.replaceChildren(cell);
  }

  #edge(kind, node) {
    if (kind === 'more') {
      node.problem = node.problem && '';
      this.model.loadMore(node);
    } else {
      this.model.fromStart(node);
    }
  }

  // Choosing

  select(node, { focus = false } = {}) {
    this.selected = node;
    const index = this.rows().findIndex((row) => row.node === node && row.kind === 'node');
    if (index >= 0) {
      const [top, height] = [index * rowHeight, this.element.clientHeight];
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top + rowHeight > this.element.scrollTop + height) this.element.scrollTop = top + rowHeight - height;
    }
    this.#drawNow();
    if (focus) this.#elements.get(node)?.focus({ preventScroll: true });
    this.dispatchEvent(new Event('select'));
  }

  toggle(node) {
    if (!node.hasChildren) return;
    if (node.isOpen) this.model.close_(node); else this.model.open(node);
  }

  #act(name, node = this.selected) {
    const event = new Event('action');
    Object.assign(event, { name, node });
    this.dispatchEvent(event);
  }

  #click(event) {
    const element = event.target.closest('.row');
    if (!element?.row || element.row.kind !== 'node' || event.target.closest('form')) return;
    const { node } = element.row;
    if (event.target.closest('.twisty')) this.toggle(node);
    this.select(node, { focus: true });
  }

  #doubleClick(event) {
    const element = event.target.closest('.row');
    if (element?.row?.kind !== 'node' || event.target.closest('form, .twisty')) return;
    const { node } = element.row;
    if (event.target.closest('.value')) this.#act('edit', node); else this.toggle(node);
  }

  #key(event) {
    if (event.isComposing || event.target.closest('form')) return;
    if (event.altKey || event.metaKey) return;
    const rows = this.rows().filter((row) => row.kind === 'node');
    const index = rows.findIndex((row) => row.node === this.selected);
    const node = this.selected;
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1);
    const move = (to) => this.select(rows[Math.max(0, Math.min(rows.length - 1, to))].node, { focus: true });
    const commands = {
      ArrowDown: () => move(index + 1), ArrowUp: () => move(index - 1),
      PageDown: () => move(index + page), PageUp: () => move(index - page),
      Home: () => move(0), End: () => move(rows.length - 1),
      ArrowRight: () => {
        if (node.hasChildren && !node.isOpen) this.toggle(node); else if (node.isOpen) move(index + 1);
      },
      ArrowLeft: () => {
        if (node.isOpen && node.hasChildren && node.parent) this.toggle(node);
        else if (node.parent) this.select(node.parent, { focus: true });
      },
      Enter: () => (node.hasChildren ? this.toggle(node) : this.#act('edit')),
      F2: () => this.#act('edit'), Insert: () => this.#act('add'), Delete: () => this.#act('remove'),
    };
    if (event.ctrlKey) {
      if (event.key === 'c' && !String(getSelection())) { this.#act('copy'); event.preventDefault(); }
      else if (event.key === 'z') { this.#act('undo'); event.preventDefault(); }
      return;
    }
    const command = commands[event.key];
    if (!command || (event.shiftKey && event.key !== 'F2')) return;
    event.preventDefault();
    command();
  }
}
