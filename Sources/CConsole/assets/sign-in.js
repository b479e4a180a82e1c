// Signing in at a production server: by a link, or with a key that is dropped on the page.
import { h, newID } from './dom.js';

/** Says in the dialog why a sign-in has failed. */
export function showProblem(text) {
  const problem = document.querySelector('.sign-in .problem');
  if (problem) problem.textContent = text;
}

/** Resolves when the session has a token. What is behind it stays. */
export function showSignIn(session, reason) {
  return new Promise((resolve) => {
    const title = h('h2', { id: newID('title') }, 'Sign in');
    const problem = h('p.problem', { role: 'alert' }, reason ?? '');
    const input = h('input', { type: 'file', accept: '.json,application/json', id: 'key-file' });
    const dialog = h('dialog.sign-in', { 'aria-labelledby': title.id, oncancel: (event) => event.preventDefault() });
    async function take(file) {
      if (!file) return;
      problem.textContent = '';
      try {
        if (!isSecureContext) throw new Error('Signing in needs https, or an address of this machine.');
        if (file.size > 100_000) throw new Error('This file is too large for a key.');
        await session.signIn(await file.text());
      } catch (error) { problem.textContent = error.message; }
      input.value = '';
    }
    // By the key, or by a link that was opened in this tab.
    session.addEventListener('begun', () => {
      dialog.close();
      dialog.remove();
      resolve();
    }, { once: true });
    input.addEventListener('change', () => take(input.files[0]));
    dialog.addEventListener('dragover', (event) => { event.preventDefault(); dialog.classList.add('over'); });
    dialog.addEventListener('dragleave', () => dialog.classList.remove('over'));
    dialog.addEventListener('drop', (event) => {
      event.preventDefault();
      dialog.classList.remove('over');
      take(event.dataTransfer.files[0]);
    });
    dialog.append(title, problem,
      h('p', {}, 'On the server, or wherever the key is, run this and open the link that it prints:'),
      h('pre', {}, h('code', {}, 'hearth console --key FILE')),
      h('p', {}, 'Or drop the key file here. The private key does not leave this page, and is not kept.'),
      h('div.field', {}, h('label', { for: input.id }, 'Key file of hearth admin create-key'), input));
    document.body.append(dialog);
    dialog.showModal();
  });
}
