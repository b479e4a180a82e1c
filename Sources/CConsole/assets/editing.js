// What can be done to a row of the tree.
import { confirmed, ask, askText } from './dialog.js';
import { announce, field, foreign, h, report } from './dom.js';
import { bytes, whole } from './format.js';
import { Num, Obj, parse, stringify } from './json.js';
import { keyProblem, makePushID, visible } from './keys.js';
import { readMax, withPriority } from './writes.js';
import { valueForm } from './value-form.js';

const childPath = (path, key) => `${path === '/' ? '' : path}/${key}`;
const place = (path) => h('code', {}, foreign(visible(path)));

export class Editing {
  /** @param {{ connection, writes, view, database: string }} context */
  constructor(context) { Object.assign(this, context); }

  /** The value of a row with its priorities, if it is small enough for the page. */
  async #whole(node) {
    const isLeaf = !node.hasChildren;
    if (isLeaf && node.value !== undefined) return withPriority(node.value, node.priority);
    if (node.bytes > readMax || (node.isLarge && node.bytes === undefined)) return undefined;
    return this.writes.read(node.path);
  }

  async edit(node) {
    if (node.hasChildren) { await this.editJSON(node); return; }
    // A control of one line would drop line breaks.
    const hasLines = typeof node.value === 'string' && /[\r\n]/.test(node.value);
    if (node.value === undefined || hasLines || matchMedia('(max-width: 720px)').matches) { await this.#editApart(node); return; }
    const before = withPriority(node.value, node.priority);
    const controls = valueForm(node.value, { label: `Value of ${node.path}` });
    const done = () => {
      // Another row may be edited by now.
      if (this.view.editing?.form !== form) return;
      const { node: shown } = this.view.editing;
      this.view.editing = null;
      this.view.draw();
      requestAnimationFrame(() => this.view.select(shown, { focus: true }));
    };
    const problem = h('span.problem', { role: 'alert' });
    let isBusy = false;
    const form = h('form.inline', {
      onsubmit: async (event) => {
        event.preventDefault();
        if (isBusy) return;
        isBusy = true;
        problem.textContent = '';
        try {
          const value = controls.read();
          if (value === null) { done(); await this.remove(node); return; }
          await this.#save(node.path, withPriority(value, node.priority), before);
          done();
        } catch (error) { problem.textContent = error.message; } finally { isBusy = false; }
      },
      onkeydown: (event) => {
        event.stopPropagation();
        if (event.key === 'Escape') { event.preventDefault(); done(); }
      },
    }, ...controls.parts,
    h('button.primary', { type: 'submit' }, 'Save'),
    h('button', { type: 'button', onclick: () => done() }, 'Cancel'), problem);
    let isShown = false;
    this.view.editing = {
      node, form,
      shown() {
        if (isShown) return;
        isShown = true;
        controls.focus();
      },
    };
    this.view.draw();
  }

  /** Long texts, and narrow screens, want more room than a row has. */
  async #editApart(node) {
    const before = await this.#whole(node);
    if (before === undefined) { announce('This text is too large to edit here: export it.', { kind: 'error' }); return; }
    const now = before instanceof Obj ? before.get('.value') : before;
    const controls = valueForm(now, { label: `Value of ${node.path}`, multiline: true });
    const edited = await ask({
      title: 'Edit', confirm: 'Save', wide: true, body: [h('p', {}, place(node.path)), h('div.stack', {}, ...controls.parts)],
      read: async () => {
        const value = controls.read();
        if (value !== null) await this.#save(node.path, withPriority(value, node.priority), before);
        return { value };
      },
    });
    if (edited?.value === null) await this.remove(node);
  }

  /** Writes if nobody has changed the place since it was shown; asks otherwise. */
  async #save(path, value, before) {
    try {
      await this.writes.set(`edit of ${path}`, path, value, { before });
    } catch (error) {
      if (error.status !== 'datastale') throw error;
      const now = await this.writes.read(path);
      const isWanted = await confirmed('This value has changed meanwhile',
        [h('p', {}, 'Now there is: ', h('code', {}, foreign(visible(stringify(now).slice(0, 500)))))], 'Overwrite');
      // What was typed stays where it is.
      if (!isWanted) throw new Error('Not saved: the value has changed meanwhile.');
      await this.writes.set(`edit of ${path}`, path, value, { before: now });
    }
  }

  /** All of a node, as JSON. */
  async editJSON(node) {
    const before = await this.#whole(node);
    if (before === undefined) {
      announce('This node is too large to edit at once: open it and edit its children, or export it.', { kind: 'error' });
      return;
    }
    const text = h('textarea', {
      'aria-label': 'JSON', rows: 18, spellcheck: false, wrap: 'off', value: stringify(before, 2), autofocus: true,
    });
    await ask({
      title: 'Edit as JSON', wide: true, confirm: 'Save', body: [h('p', {}, place(node.path)), text],
      read: async () => {
        const value = parse(text.value);
        await this.#save(node.path, value, before);
        return true;
      },
    });
  }

  async add(node) {
    const parent = node.hasChildren || node.type === 'null' ? node : node.parent ?? node;
    const key = h('input', { type: 'text', value: makePushID(), spellcheck: false, autocomplete: 'off' });
    const controls = valueForm('', { multiline: true });
    const added = await ask({
      title: 'Add a child', confirm: 'Add',
      body: [h('p', {}, 'below ', place(parent.path)), field('Key', key, 'A push id is proposed: children in the order in which they were made.'),
        h('div.field', {}, h('span.label', {}, 'Value'), h('div.stack', {}, ...controls.parts))],
      read: async () => {
        const problem = keyProblem(key.value);
        if (problem) throw new Error(problem);
        const value = controls.read();
        if (value === null) throw new Error('null is no value: nothing would be added.');
        try {
          await this.writes.set(`add ${key.value}`, childPath(parent.path, key.value), value, { before: null });
        } catch (error) {
          throw error.status === 'datastale' ? new Error('There is a child of that key already.') : error;
        }
        return key.value;
      },
    });
    if (added === null) return;
    if (!parent.isOpen) await this.view.model.open(parent);
    this.wanted = { parent, key: added };
  }

  async rename(node) {
    if (!node.parent) { announce('The node that is shown at the top cannot be renamed here: go one level up.', { kind: 'error' }); return; }
    if (node.bytes > readMax || (node.isLarge && node.bytes === undefined)) {
      announce('This node is too large to be renamed in a browser: use “mv” of hearth shell.', { kind: 'error' });
      return;
    }
    const name = await askText('Rename', 'Key', {
      value: node.key, confirm: 'Rename', check: keyProblem, hint: 'The value moves with its priorities, in one commit.',
    });
    if (name === null || name === node.key) return;
    await this.writes.rename(node.parent.path, node.key, name);
    announce(`Renamed to ${visible(name)}.`);
  }

  async priority(node) {
    const now = node.priority;
    const shown = now === null || now === undefined ? '' : String(now.text ?? now);
    const text = await askText('Priority', 'Number or text; empty for none', { value: shown, confirm: 'Set' });
    // A control drops line breaks.
    if (text === null || text === shown.replace(/[\r\n]/g, '')) return;
    let priority = text === '' ? null : text;
    if (/^-?\d/.test(text)) { try { const read = parse(text); if (read instanceof Num) priority = read; } catch { /* text */ } }
    await this.writes.setPriority(node.path, priority);
  }

  /** Says how much goes. What is small can be undone, and is not asked about. */
  async remove(node) {
    const depth = node.keys.length;
    const isSmall = node.value !== undefined && depth > 0;
    const before = await this.#whole(node);
    const run = () => this.writes.set(`remove ${node.path}`, node.path, null, before === undefined ? {} : { before });
    if (!isSmall) {
      const answer = await this.connection.admin('count', { p: node.path });
      const found = answer.get('n')?.value ?? 0;
      const many = answer.has('next') ? `more than ${whole(found)} children` : found === 1 ? '1 child' : `${whole(found)} children`;
      const key = depth === 0 ? this.database : node.key;
      const isSure = await confirmed(`Remove ${depth === 0 ? 'everything' : 'this node'}?`, [
        h('p', {}, place(node.path), ' of the database ', h('strong', {}, this.database), ' has ', h('strong', {}, many),
          node.bytes === undefined ? ', which are read and counted no further.' : ` and ${bytes(node.bytes)}.`),
        h('p', {}, before === undefined ? 'It is too large to be undone here.' : 'It can be undone while this page is open.'),
      ], 'Remove', { word: depth <= 1 || before === undefined ? key : undefined });
      if (!isSure) return;
    }
    try { await run(); } catch (error) {
      if (error.status === 'datastale') throw new Error('Not removed: it has changed meanwhile. Look at it again.');
      throw error;
    }
    announce(`Removed ${visible(node.path)}.`, before === undefined ? {} : { action: { label: 'Undo', run: () => this.undo() } });
  }

  async undo() {
    try {
      const what = await this.writes.undo();
      announce(what === null ? 'There is nothing to undo.' : `Undone: ${visible(what)}.`);
    } catch (error) { report(error); }
  }

  async copy(node) {
    await navigator.clipboard.writeText(node.path);
    announce(`Copied the path ${visible(node.path)}.`);
  }

  async copyJSON(node) {
    const value = await this.#whole(node);
    if (value === undefined) { announce('Too large to copy: export it.', { kind: 'error' }); return; }
    await navigator.clipboard.writeText(stringify(value instanceof Obj ? value : value, 2));
    announce('Copied as JSON.');
  }
}
