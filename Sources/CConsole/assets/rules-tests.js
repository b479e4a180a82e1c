// A file of test cases, run against the rules or settings in the editor, and how much of the rules the cases look at.
import { field, foreign, guarded, h } from './dom.js';
import { visible } from './keys.js';
import { table } from './table.js';

const fileMax = 4 << 20;
const rulesExample = `{
  "data": {"users": {"ann": {"name": "Ann"}}},
  "tests": [
    {"as": "ann", "read": "/users/ann", "allowed": true},
    {"as": null, "read": "/users/ann", "allowed": false}
  ]
}
`;

/**
 * @param {{ rules?(): string, settings?(): string, goTo?(line: number, column: number): void, example?: string }} editor
 *   what is not edited is that in force; without `goTo`, the rules are not
 */
export function makeRulesTests(app, editor) {
  const what = editor.rules ? 'rules' : 'settings';
  const draft = () => `hearth.tests.${what}.${app.database}`;
  const text = h('textarea', { rows: 10, spellcheck: false, className: 'mono', autocomplete: 'off' });
  const file = h('input', { type: 'file', accept: '.json,application/json' });
  const out = h('div.stack', { role: 'region', 'aria-label': 'Test results', 'aria-live': 'polite' });
  const keep = () => { try { sessionStorage.setItem(draft(), text.value); } catch { /* it is kept in the page only */ } };
  text.addEventListener('input', keep);
  file.addEventListener('change', guarded(async () => {
    const chosen = file.files[0];
    if (!chosen) return;
    if (chosen.size > fileMax) throw new Error('Test files have at most 4 MiB.');
    text.value = await chosen.text();
    file.value = '';
    keep();
  }));

  const conditions = table({
    label: 'Coverage', columns: [
      { name: 'line', label: 'Line', figure: true, sort: (row) => row.line, cell: (row) => !editor.goTo ? row.line : h('button.link', { type: 'button', 'aria-label': `Line ${row.line}, column ${row.column}`, onclick: () => editor.goTo(row.line, row.column) }, row.line) },
      { name: 'text', label: 'Condition', cell: (row) => [h('code', {}, foreign(row.text)), h('small.muted', {}, ` ${row.kind} of `, foreign(visible(row.rule)))] },
      { name: 'true', label: 'True', figure: true, sort: (row) => row.true, cell: (row) => row.true },
      { name: 'false', label: 'False', figure: true, sort: (row) => row.false, cell: (row) => row.false },
      { name: 'missing', label: 'Coverage', sort: (row) => row.missing ?? '', cell: (row) => (row.missing ? h('span.gap', {}, `✗ ${row.missing}`) : '✓ complete') },
    ],
  });

  async function run() {
    const answer = await app.connection.rest('POST', '/.settings/test.json', JSON.stringify({ rules: editor.rules?.(), settings: editor.settings?.(), tests: text.value }));
    if (answer.status !== 200) {
      const message = answer.body?.error ?? `The server answers ${answer.status}.`;
      const place = /^(tests|rules|settings):(\d+):(\d+): (.*)$/s.exec(message);
      throw new Error(place ? `Line ${place[2]}, column ${place[3]} of the ${place[1]}: ${place[4].trim()}` : message);
    }
    const { passed, failed, seen, outcomes } = answer.body;
    conditions.show(answer.body.conditions);
    out.replaceChildren(
      h(`p.verdict.${failed.length ? 'denied' : 'allowed'}`, {}, `${failed.length ? '✗' : '✓'} ${passed} of ${passed + failed.length} passed`),
      ...failed.map((each) => h('section', {},
        h('h3', {}, `Line ${each.line}: `, foreign(visible(each.name))),
        h('pre.reason', {}, foreign(each.lines.join('\n'))))),
      h('p', {}, `${seen} of ${outcomes} outcomes of conditions seen`), conditions.element);
    out.scrollIntoView({ block: 'start' });
  }

  const element = h('section', { 'aria-label': 'Tests' }, h('h2', {}, 'Tests'),
    h('p.muted', {}, `Test cases for the ${what} in the editor, published or not. They use the data of the test file, not of the database.`),
    h('form.stack', { onsubmit: guarded(async (event) => { event.preventDefault(); out.replaceChildren(); await run(); }) },
      field('Test file, as JSON', text), field('Open a file', file),
      h('div.buttons', {}, h('button.primary', { type: 'submit' }, 'Run tests'))), out);
  return {
    element,
    show() {
      if (text.value) return;
      let kept = null;
      try { kept = sessionStorage.getItem(draft()); } catch { /* none is kept */ }
      text.value = kept ?? editor.example ?? rulesExample;
    },
  };
}
