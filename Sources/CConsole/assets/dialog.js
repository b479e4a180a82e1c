// Questions in front of the page. Each answers what its form has, or null if it was left.
import { field, h, newID } from './dom.js';

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
    const dialog = h(wide ? 'dialog.wide' : 'dialog', { 'aria-labelledby': heading.id });
    let answer = null;
    const form = h('form', {
      onsubmit: async (event) => {
        event.preventDefault();
        problem.textContent = '';
        accept.disabled = true;
        try {
          answer = await read();
          dialog.close();
        } catch (error) {
          problem.textContent = error.message;
        } finally { accept.disabled = false; }
      },
    }, heading, ...body, problem, h('div.buttons', {},
      h('button', { type: 'button', autofocus: danger, onclick: () => dialog.close() }, 'Cancel'),
      ...alternatives.map(([label, value]) =>
        h('button', { type: 'button', onclick: () => { answer = value; dialog.close(); } }, label)),
      accept));
    dialog.append(form);
    dialog.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
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
