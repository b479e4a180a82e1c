// Questions in front of the page. Each answers what its form has, or null if it was left.
import { field, h, newID, report } from './dom.js';

/**
 * @param {{ title: string, body?: any[], confirm: string, danger?: boolean,
 *           read?: () => any | Promise<any>, wide?: boolean, alternatives?: [string, any][] }} options
 *   `read` makes the answer; what it throws is shown, and the dialog stays.
 */
export function ask({ title, body = [], confirm, danger = false, read = () => true, wide = false, alternatives = [] }) {
  return new Promise((resolve) => {
    const opener = document.activeElement;
    const heading = h('h2', { id: newID('title') }, title);
    const problem = h('p.problem', { role: 'alert' });
    const accept = h(`button.${danger ? 'danger' : 'primary'}`, { type: 'submit' }, confirm);
    const buttons = h('div.buttons', {},
      h('button', { type: 'button', autofocus: danger, onclick: () => dialog.close() }, 'Cancel'),
      ...alternatives.map(([label, value]) =>
        h('button', { type: 'button', onclick: () => { answer = value; dialog.close(); } }, label)),
      accept);
    const dialog = h(wide ? 'dialog.wide' : 'dialog', { 'aria-labelledby': heading.id, tabIndex: -1 });
    let answer = null;
    // What is under way is neither begun again nor left: nobody would hear how it ended.
    let isBusy = false;
    let focused = null;
    const setBusy = (value) => {
      isBusy = value;
      // A button that is disabled loses the focus, and keys would go to the page.
      if (value) focused = document.activeElement;
      if (value && buttons.contains(focused)) dialog.focus();
      for (const button of buttons.children) button.disabled = value;
      if (!value && document.activeElement === dialog) focused?.focus();
    };
    const form = h('form', {
      onsubmit: async (event) => {
        event.preventDefault();
        if (isBusy) return;
        problem.textContent = '';
        setBusy(true);
        try {
          answer = await read();
          dialog.close();
        } catch (error) {
          problem.textContent = error.message;
          if (!dialog.open) report(error);
        } finally { setBusy(false); }
      },
    }, heading, ...body, problem, buttons);
    dialog.append(form);
    dialog.addEventListener('keydown', (event) => {
      event.stopPropagation();
      // Browsers let `cancel` be prevented only once.
      if (event.key === 'Escape' && isBusy) event.preventDefault();
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    dialog.addEventListener('cancel', (event) => { if (isBusy) event.preventDefault(); });
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (opener?.isConnected) opener.focus();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Yes or no. With `word` it has to be typed first. */
export function confirmed(title, text, confirm, { danger = true, word } = {}) {
  const lines = [].concat(text).map((line) => (line instanceof Node ? line : h('p', {}, line)));
  if (!word) return ask({ title, body: lines, confirm, danger });
  const input = h('input', { type: 'text', autocomplete: 'off', spellcheck: false });
  return ask({
    title, confirm, danger,
    body: [...lines, field(`Type ${word} to confirm`, input)],
    read: () => {
      if (input.value !== word) throw new Error('That is not what was asked for.');
      return true;
    },
  });
}

/** One line of text. */
export function askText(title, label, { value = '', confirm = 'OK', check = () => null, hint } = {}) {
  const input = h('input', { type: 'text', value, autocomplete: 'off', spellcheck: false, autofocus: true });
  return ask({
    title, confirm, body: [field(label, input, hint)],
    read: () => {
      const problem = check(input.value);
      if (problem) throw new Error(problem);
      return input.value;
    },
  });
}
