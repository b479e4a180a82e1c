// Asking the rules about an operation that is not made.
import { choice, field, foreign, guarded, h } from './dom.js';
import { Obj, parse, stringify } from './json.js';
import { visible } from './keys.js';

export function makeSimulator(app, { goTo }) {
  const operation = choice([['read', 'read'], ['write', 'write']], 'read');
  const path = h('input', { type: 'text', value: '/', spellcheck: false, autocomplete: 'off' });
  const who = choice([['nobody', 'nobody'], ['user', 'a user'], ['json', 'auth as JSON']], 'nobody');
  const uid = h('input', { type: 'text', value: 'ann', spellcheck: false, autocomplete: 'off' });
  const auth = h('textarea', { rows: 4, spellcheck: false, value: '{\n  "uid": "ann",\n  "token": {}\n}' });
  const value = h('textarea', { rows: 4, spellcheck: false, value: 'true' });
  const out = h('div', { role: 'region', 'aria-label': 'Decision', 'aria-live': 'polite' });
  const [uidField, authField, valueField] = [field('User id', uid), field('auth', auth), field('Value, as JSON', value)];
  const show = () => {
    valueField.hidden = operation.value !== 'write';
    uidField.hidden = who.value !== 'user';
    authField.hidden = who.value !== 'json';
  };
  operation.addEventListener('change', show);
  who.addEventListener('change', show);
  show();

  async function run() {
    const question = new Obj([['operation', operation.value], ['path', path.value]]);
    try {
      if (operation.value === 'write') question.entries.push(['value', parse(value.value)]);
    } catch (error) { throw new Error(`The value is no JSON: ${error.message}`); }
    try {
      if (who.value === 'user') question.entries.push(['auth', new Obj([['uid', uid.value], ['provider', 'password'], ['token', new Obj()]])]);
      if (who.value === 'json') question.entries.push(['auth', parse(auth.value)]);
    } catch (error) { throw new Error(`auth is no JSON: ${error.message}`); }
    const answer = await app.connection.rest('POST', '/.settings/explain.json', stringify(question));
    if (answer.status !== 200) throw new Error(answer.body?.error ?? `The server answers ${answer.status}.`);
    const { allowed, rules = [] } = answer.body;
    out.replaceChildren(
      h(`p.verdict.${allowed ? 'allowed' : 'denied'}`, {}, allowed ? '✓ allowed' : '✗ denied'),
      ...rules.length === 0 ? [h('p', {}, 'No rule stands on the way to the place.')] : rules.map((rule) => h('section', {},
        h('h3', {}, h('button.link', { type: 'button', onclick: () => goTo(rule.line, rule.column) }, `${rule.kind} of `, foreign(visible(rule.rule))),
          ` is ${rule.outcome}`),
        h('p', {}, h('code', {}, foreign(rule.text))),
        rule.error && h('p.problem', {}, rule.error),
        h('ul.trace', { 'aria-label': 'Values' }, rule.parts.map((part) =>
          h('li', {}, h('code', {}, foreign(visible(part.text))), ' = ', h('code', {}, foreign(visible(part.value)))))))));
  }

  const element = h('section', { 'aria-label': 'Simulator' }, h('h2', {}, 'Simulator'),
    h('p.muted', {}, 'By the rules in force and the data of now. Nothing is read or written.'),
    h('form', { onsubmit: guarded(async (event) => { event.preventDefault(); out.replaceChildren(); await run(); }) },
      h('div.fields', {}, field('Operation', operation), field('Path', path), field('As', who)), uidField, authField, valueField,
      h('div.buttons', {}, h('button.primary', { type: 'submit' }, 'Simulate'))), out);
  return {
    element,
    /** Fills in what was denied, and asks about it. */
    async take(denial) {
      operation.value = denial.operation;
      path.value = denial.path;
      who.value = denial.uid ? 'user' : 'nobody';
      if (denial.uid) uid.value = denial.uid;
      show();
      out.replaceChildren();
      await run();
      path.focus();
    },
  };
}
