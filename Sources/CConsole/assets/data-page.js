// The data of a database: where one is, the tree, and what can be done with a row.
import { announce, guarded, h, foreign, report } from './dom.js';
import { Editing } from './editing.js';
import { pathText, readPath, visible } from './keys.js';
import { queryPanel } from './query-panel.js';
import { exportNode, importNode } from './transfer.js';
import { TreeModel } from './tree-model.js';
import { TreeView } from './tree-view.js';
import { Writes } from './writes.js';

const actions = [
  ['edit', 'Edit', 'F2'], ['add', 'Add child', 'Insert'], ['rename', 'Rename'], ['priority', 'Priority'],
  ['remove', 'Remove', 'Delete'], ['copy', 'Copy path', 'Ctrl+C'], ['copyJSON', 'Copy JSON'], ['query', 'Query'],
  ['export', 'Export'], ['import', 'Import'], ['history', 'History'], ['undo', 'Undo', 'Ctrl+Z'],
];

export class DataPage {
  title = 'Data';

  constructor(app) {
    this.app = app;
    this.writes = new Writes(app.connection);
    this.crumbs = h('nav.crumbs', { 'aria-label': 'Path' });
    this.field = h('input', {
      type: 'text', 'aria-label': 'Go to path or key', placeholder: 'Go to path, or to a key of the selected node',
      spellcheck: false, autocomplete: 'off',
    });
    this.tools = h('div.tools', { role: 'toolbar', 'aria-label': 'Selected node' }, actions.map(([name, label, key]) =>
      h('button', {
        type: 'button', id: `do-${name}`, title: key ? `${label} (${key})` : label,
        onclick: guarded(() => this.act(name)),
      }, label)));
    this.undoButton = this.tools.querySelector('#do-undo');
    this.body = h('div.fill', {});
    this.status = h('p.status', { role: 'status' });
    this.element = h('section.page.data', { 'aria-labelledby': 'page-title' },
      h('h1.hidden', { id: 'page-title' }, 'Data'),
      h('div.pathbar', {}, this.crumbs, h('form.jump', { role: 'search', onsubmit: (event) => { event.preventDefault(); this.jump(); } },
        this.field, h('button', { type: 'submit' }, 'Go'))),
      this.tools, this.body, this.status);
    this.writes.addEventListener('change', () => this.#showUndo());
    this.#showUndo();
    this.commits = 0;
  }

  #showUndo() {
    this.undoButton.disabled = this.writes.last === null;
    this.undoButton.title = this.writes.last === null ? 'Nothing to undo' : `Undo: ${visible(this.writes.last)} (Ctrl+Z)`;
  }

  /** @param {string[]} keys */
  async show(keys) {
    const text = pathText(keys);
    if (this.model && text === this.text) return;
    this.text = text;
    this.model?.close();
    this.view?.close();
    this.model = new TreeModel(this.app.connection, keys);
    this.view = new TreeView(this.model);
    this.editing = new Editing({ connection: this.app.connection, writes: this.writes, view: this.view, database: this.app.database });
    this.view.addEventListener('action', guarded((event) => this.act(event.name, event.node)));
    this.view.addEventListener('select', () => this.#showStatus());
    this.model.addEventListener('change', () => this.#afterChange());
    this.model.addEventListener('live', (event) => { this.commits += event.count; });
    this.body.replaceChildren(this.view.element);
    this.#showCrumbs(keys);
    await this.model.watch();
    await this.model.load();
    this.view.draw();
  }

  #showCrumbs(keys) {
    const parts = [['', this.app.database], ...keys.map((key) => [key, key])];
    this.crumbs.replaceChildren(...parts.flatMap(([, label], index) => {
      const link = h('a', {
        href: this.app.address('data', keys.slice(0, index)), 'aria-current': index === parts.length - 1 ? 'location' : null,
      }, foreign(visible(label)));
      return index ? [h('span.muted', { 'aria-hidden': 'true' }, '/'), link] : [link];
    }));
  }

  #showStatus() {
    const node = this.view.selected;
    this.status.replaceChildren(foreign(visible(node.path)), node.isOpen && node.children
      ? ` — ${node.children.length === 1 ? '1 child' : `${node.children.length.toLocaleString('en')} children`} shown${node.hasMore || node.after !== null ? ', more are there' : ''}` : '');
  }

  #afterChange() {
    const wanted = this.editing.wanted;
    const child = wanted?.parent.child?.(wanted.key);
    if (wanted?.parent.children && child) {
      this.editing.wanted = null;
      this.view.select(child, { focus: true });
    }
    this.#showStatus();
  }

  async jump() {
    const text = this.field.value;
    if (!text.trim()) return;
    if (text.trim().startsWith('/') || text.includes('://')) {
      this.app.go('data', readPath(text));
      return;
    }
    const node = this.view.selected.hasChildren ? this.view.selected : this.view.selected.parent ?? this.model.root;
    const found = await this.model.jump(node, text);
    if (!found) { announce('This node has no children.'); return; }
    this.view.select(found, { focus: true });
    if (found.key !== text) announce(`There is no child ${visible(text)}; the next one is ${visible(found.key)}.`);
  }

  async act(name, node = this.view.selected) {
    switch (name) {
      case 'query': return this.#toggleQuery(node);
      case 'export': return exportNode(this.app, node.path);
      case 'import': return importNode(this.app, node);
      case 'history': return this.app.go('history', node.keys);
      case 'open': return this.app.go('data', node.keys);
      default: return this.editing[name](node);
    }
  }

  #toggleQuery(node) {
    this.panel?.end();
    this.panel = queryPanel(this.app, node.hasChildren ? node : node.parent ?? node, () => { this.panel = null; });
    this.body.before(this.panel);
    this.panel.querySelector('select, input').focus();
  }

  focus() { this.view?.select(this.view.selected, { focus: true }); }

  hide() {
    if (this.app.connection.state === 'ready') this.app.connection.admin('tail', { on: false }).catch(report);
    this.model?.close();
    this.view?.close();
    this.model = null;
    this.panel?.end();
  }
}
