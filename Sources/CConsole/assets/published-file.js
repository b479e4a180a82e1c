// The rules of a database, or its settings: a text that the server checks while it is edited, and that is published.
import { ask, confirmed } from './dialog.js';
import { shortDiff } from './diff.js';
import { announce, guarded, h, report } from './dom.js';
import { RulesEditor } from './rules-editor.js';

/** The two files of each database that are open, by the names of their drafts. */
const open = new Map();

/** A draft: the text, and `base`, the text in force that it was made of. Earlier versions kept the text alone. */
function storedDraft(name) {
  let stored = null;
  try {
    stored = sessionStorage.getItem(name);
    const draft = JSON.parse(stored);
    if (typeof draft?.text === 'string') return draft;
  } catch { /* it is a text, or nothing is kept */ }
  return stored === null ? null : { text: stored };
}

/** As a control has a text. */
const shown = (text) => text?.replace(/\r\n?/g, '\n');

export class PublishedFile {
  /** @param {'rules' | 'settings'} name */
  constructor(app, name) {
    this.app = app;
    this.name = name;
    open.set(this.draftName, this);
    this.editor = new RulesEditor(name);
    this.editor.addEventListener('input', () => this.changed());
    this.problem = h('p.problem', { id: `${name}-problem`, role: 'status' });
    this.status = h('span.muted', { role: 'status' });
    this.publish = h('button.primary', { type: 'button', disabled: true, onclick: guarded(() => this.offer()) }, 'Publish…');
    this.revert = h('button', { type: 'button', disabled: true, onclick: guarded(() => this.discard()) }, 'Discard changes');
    this.tools = h('div.tools', {}, this.publish, this.revert, this.status);
    this.element = h('div.stack', {}, this.editor.element, this.problem,
      h('small', { id: `${name}-keys` }, 'Ctrl+M makes the Tab key indent; Escape makes it leave the field again.'));
  }

  get text() { return this.editor.text; }
  get address() { return this.addressOf(this.name); }
  get draftName() { return this.draftOf(this.name); }
  get isChanged() { return this.text !== shown(this.inForce); }

  addressOf(name) { return `/.settings/${name}.json?${new URLSearchParams({ ns: this.app.database })}`; }

  draftOf(name) { return `hearth.${name}.${this.app.database}`; }

  goTo(line, column) { this.editor.goTo(line, column); }

  async fetch(address, options = {}) {
    const answer = await fetch(address, { ...options, cache: 'no-store', headers: { Authorization: `Bearer ${this.app.session.token()}` } });
    const text = await answer.text();
    if (!answer.ok) {
      let message = text;
      try { message = JSON.parse(text).error ?? text; } catch { /* as it is */ }
      throw Object.assign(new Error(message.trim()), { code: answer.status });
    }
    return text;
  }

  async load() {
    if (this.inForce !== undefined) return;
    this.inForce = await this.fetch(this.address);
    const draft = storedDraft(this.draftName);
    this.base = draft?.base ?? this.inForce;
    this.editor.text = draft?.text ?? this.inForce;
    if (draft && this.isChanged) {
      announce(`Your draft of the ${this.name} is still here; it is not published.${this.base === this.inForce ? '' : ` The ${this.name} in force have changed since.`}`);
    }
    if (!this.isChanged) this.base = this.inForce;
    this.showState();
    await this.check();
  }

  /** After the connection came back, perhaps with another token. */
  ready() { if (this.inForce !== undefined) this.check().catch(report); }

  showState() {
    this.revert.disabled = !this.isChanged;
    this.publish.disabled = !this.isChanged || !this.isValid;
    this.status.textContent = !this.isChanged ? `These ${this.name} are in force.` : 'Changed, not published.';
  }

  changed() {
    this.isValid = false;
    if (!this.isChanged) this.base = this.inForce;
    try { sessionStorage.setItem(this.draftName, JSON.stringify({ base: this.base, text: this.text })); } catch { /* it is kept in the page only */ }
    this.showState();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check().catch(report), 300);
  }

  /** Has the server read the text. What belongs to an older text is dropped. */
  async check() {
    const { text } = this;
    let found = null;
    let answer = null;
    try {
      answer = JSON.parse(await this.fetch(`${this.address}&dryRun=true&warnings=true`, { method: 'PUT', body: text }));
    } catch (error) {
      // The session is about to end: it is checked again after the next sign-in.
      if (error.code === 401) return;
      if (error.code !== 400) throw error;
      const place = /^(\d+):(\d+): (.*)$/s.exec(error.message);
      found = place ? { line: Number(place[1]), column: Number(place[2]), message: place[3] } : { line: 1, column: 1, message: error.message };
    }
    if (text !== this.text) return;
    this.isValid = found === null;
    // Settings are never open.
    this.isOpen = answer?.open === true;
    this.editor.mark(found);
    this.problem.textContent = found ? `Line ${found.line}, column ${found.column}: ${found.message}` : '';
    this.showState();
  }

  async discard() {
    if (!await confirmed('Discard your changes?', `The text goes back to the ${this.name} in force.`, 'Discard')) return;
    await this.reset();
  }

  /** Takes away what the database has of its own: what the server's file says holds again. */
  async remove() {
    const removed = await ask({
      title: `Remove the ${this.name} of ${this.app.database}?`, confirm: 'Remove', danger: true,
      body: [h('p', {}, `Those of the server's file hold again, if it has one. What these ${this.name} alone ask for goes, such as indexes and kept history; your changes here go too.`)],
      read: async () => {
        await this.fetch(this.address, { method: 'DELETE' });
        return true;
      },
    });
    if (!removed) return;
    await this.reset();
    announce(`The ${this.name} of ${this.app.database} are removed.`);
    this.onpublish?.();
  }

  /** The text in force, and no draft. */
  async reset() {
    this.inForce = await this.fetch(this.address);
    this.base = this.inForce;
    this.editor.text = this.inForce;
    try { sessionStorage.removeItem(this.draftName); } catch { /* none was kept */ }
    await this.check();
  }

  /** Whether the differences that are shown are still those to what is in force. */
  async checkInForce(name, known) {
    if (await this.fetch(this.addressOf(name)) === known) return;
    throw new Error(`The ${name} in force have just changed: cancel, and look at the differences again.`);
  }

  /** Shows what would change, and publishes it. */
  async offer() {
    const { text } = this;
    const now = await this.fetch(this.address);
    const warnings = [];
    const warning = (name) => h('p.problem', {}, `The ${name} in force have changed since you began to edit them; the differences below are to those of now.`);
    if (now !== this.base) warnings.push(warning(this.name));
    if (this.isOpen) warnings.push(h('p.problem', {}, 'These rules let everybody read or write everything.'));
    const word = h('input', { type: 'text', autocomplete: 'off', spellcheck: false });
    const differences = (from, to, label) => h('div.diff', { tabIndex: 0, role: 'region', 'aria-label': label }, shortDiff(shown(from), shown(to)).map(([kind, line]) =>
      (kind === 'added' ? h('ins', {}, `+ ${line}`) : kind === 'removed' ? h('del', {}, `− ${line}`) : h('div', {}, `  ${line}`))));
    // Rules and settings that need each other are published in one step, with the rules.
    const draft = this.name === 'rules' ? storedDraft(this.draftOf('settings')) : null;
    const settings = draft === null ? null : await this.fetch(this.addressOf('settings'));
    const both = h('input', { type: 'checkbox', id: 'publish-both' });
    const pair = draft === null || draft.text === shown(settings) ? [] : [
      h('p', {}, h('label.check', {}, both, 'Publish your changed settings with them, in one step')),
      settings !== draft.base && warning('settings'), differences(settings, draft.text, 'Differences of the settings')];
    const published = await ask({
      title: `Publish the ${this.name} of ${this.app.database}?`, confirm: 'Publish', danger: this.isOpen, wide: true,
      body: [...warnings, differences(now, text, 'Differences'), ...pair, this.isOpen && h('div.field', {}, h('label', { for: (word.id = 'open-rules') }, 'Type open to confirm'), word)].filter(Boolean),
      read: async () => {
        if (this.isOpen && word.value !== 'open') throw new Error('Type “open” if everybody is meant to have access.');
        await this.checkInForce(this.name, now);
        if (both.checked) {
          await this.checkInForce('settings', settings);
          await this.fetch(this.addressOf('rules-and-settings'), { method: 'PUT', body: JSON.stringify({ rules: text, settings: draft.text }) });
        } else {
          await this.fetch(this.address, { method: 'PUT', body: text });
        }
        return true;
      },
    });
    if (!published) return;
    if (both.checked) {
      try { sessionStorage.removeItem(this.draftOf('settings')); } catch { /* none was kept */ }
      await open.get(this.draftOf('settings'))?.reset();
    }
    this.inForce = text;
    this.base = text;
    try { sessionStorage.removeItem(this.draftName); } catch { /* none was kept */ }
    this.showState();
    announce(both.checked ? 'The rules and the settings are in force.' : `The ${this.name} are in force.`);
    this.onpublish?.();
  }
}
