// Building a query: what it selects, and the index that it needs.
import { announce, choice, field, foreign, guarded, h } from './dom.js';
import { short } from './format.js';
import { Num, Obj, parse, stringify } from './json.js';
import { visible } from './keys.js';
import { LiveQuery } from './live-query.js';

/** What is typed as a bound: JSON, or text where it is none. */
function bound(text, byKey) {
  if (text === '') return undefined;
  if (byKey) return text;
  try {
    const value = parse(text);
    if (value === null || value instanceof Num || typeof value !== 'object') return value;
  } catch { /* text */ }
  return text;
}

/** The lines of the rules that make the index, or other lines at the same place. */
export function indexLines(keys, order, lines = `".indexOn": [${JSON.stringify(order)}]`) {
  let text = lines;
  for (const key of [...keys].reverse()) text = `${JSON.stringify(key)}: { ${text} }`;
  return text;
}

let tags = 1000;

/** Runs a query once. Answers what it selects, and whether an index was missing. */
export async function runQuery(connection, path, query) {
  // Listening says whether there is an index; reading once does not.
  tags += 1;
  const tag = tags;
  let value = null;
  const take = (event) => { if (event.body.get('t')?.value === tag) value = event.body.get('d') ?? null; };
  connection.addEventListener('push:d', take);
  try {
    const answer = await connection.request('q', { p: path, q: query, t: tag, h: '' });
    const warnings = answer instanceof Obj ? answer.get('w') ?? [] : [];
    return { value, isUnindexed: warnings.includes('no_index') };
  } finally {
    connection.removeEventListener('push:d', take);
    connection.request('n', { p: path, q: query, t: tag }).catch(() => {});
  }
}

export function queryPanel(app, node, closed) {
  const order = choice([['.key', 'key'], ['.value', 'value'], ['.priority', 'priority'], ['child', 'child…'], ['find', 'conditions…']], '.key');
  const child = h('input', { type: 'text', placeholder: 'name, or by/name', spellcheck: false, autocomplete: 'off' });
  const equal = h('input', { type: 'text', spellcheck: false, autocomplete: 'off' });
  const start = h('input', { type: 'text', spellcheck: false, autocomplete: 'off' });
  const end = h('input', { type: 'text', spellcheck: false, autocomplete: 'off' });
  const side = choice([['l', 'first'], ['r', 'last']], 'l');
  const conditions = h('textarea', { rows: 5, spellcheck: false, value: '{"where":[["state","==","open"]],"orderBy":[["due","desc"]],"limit":50}' });
  const limit = h('input', { type: 'number', min: 1, max: 1000, value: 50 });
  const keep = h('input', { type: 'checkbox', id: 'keep-query' });
  const keepField = h('label.check', { for: keep.id }, keep, 'Keep up to date');
  let live = null;
  const endLive = () => {
    live?.end();
    live = null;
  };
  const out = h('div.results', { role: 'region', 'aria-label': 'Result of the query' });
  const childField = field('Child path', child);
  const conditionsField = field('Query object', conditions, 'Conditions, orders and fields as in Protocol.md 18.3; or aggregates.');
  const simple = [field('Equal to', equal), field('From', start), field('To', end), field('Show the', side), field('Limit', limit)];
  const bounds = h('small', {}, 'Bounds are JSON: 12, true, "12"; other text is text.');
  const show = () => {
    childField.hidden = order.value !== 'child';
    conditionsField.hidden = order.value !== 'find';
    keepField.hidden = order.value !== 'find';
    for (const one of [...simple, bounds]) one.hidden = order.value === 'find';
  };
  order.addEventListener('change', show);
  const panel = h('section.panel', { 'aria-label': 'Query' },
    h('form', { onsubmit: guarded(async (event) => { event.preventDefault(); endLive(); await (order.value === 'find' ? find() : run()); }) },
      h('p', {}, 'Children of ', h('code', {}, foreign(visible(node.path)))),
      h('div.fields', {}, field('Order by', order), childField, ...simple), conditionsField, keepField, bounds,
      h('div.buttons', {}, h('button.primary', { type: 'submit' }, 'Run'),
        h('button', { type: 'button', onclick: () => { panel.end(); closed(); } }, 'Close'))), out);
  show();
  keep.addEventListener('change', () => { if (!keep.checked) endLive(); });
  /** Takes the panel away, and ends what it listens to. */
  panel.end = () => { endLive(); panel.remove(); };

  const notice = (reason, lines) => h('div.notice.warning', { role: 'status' },
    h('span', {}, reason, h('code', {}, foreign(lines))),
    h('button', {
      type: 'button', onclick: guarded(async () => { await navigator.clipboard.writeText(lines); announce('Copied.'); }),
    }, 'Copy'));

  const list = (entries) => h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'Value'))),
    h('tbody', {}, entries.map(([key, value]) => {
      const { kind, text } = short({ type: typeof value, value: value === undefined ? null : value });
      return h('tr', {}, h('th', { scope: 'row' }, h('a', { href: app.address('data', [...node.keys, key]) }, foreign(visible(key)))),
        h('td', {}, foreign(visible(text), { className: `v ${kind}` })));
    })));

  /** A query with several conditions (Protocol.md 18.3). */
  async function find() {
    const asked = parse(conditions.value);
    if (!(asked instanceof Obj)) throw new Error('The query is an object.');
    const query = new Obj([...asked.entries.filter(([key]) => key !== 'explain'), ['explain', true]]);
    const page = await app.connection.request('cg', { p: node.path, q: query });
    const explained = page.get('explain');
    const index = explained?.get('index');
    const lookedAt = explained && `${explained.get('examined').text} looked at, ${index ? `by the index ${index}` : 'without an index'}`;
    const needed = page.has('needs') && notice('This index would serve the query. Add to the settings: ', indexLines(node.keys, '', `".index": [${page.get('needs')}]`));
    const showFigures = (figures, how) => out.replaceChildren(...[needed, h('p', {}, foreign(stringify(figures))), h('p.muted', {}, how)].filter(Boolean));
    const showItems = (items, how) => out.replaceChildren(...[
      needed, h('p', {}, `${items.length} ${items.length === 1 ? 'child' : 'children'}${how}`), list(items),
    ].filter(Boolean));
    if (query.has('aggregate')) {
      showFigures(new Obj(page.entries.filter(([key]) => key !== 'explain' && key !== 'needs')), lookedAt);
    } else {
      showItems((page.get('items')?.entries ?? []).map(([, item]) => [item.get('key'), item.get('value')]),
        `${page.has('next') ? '; more follow' : ''}; ${lookedAt}`);
    }
    if (!keep.checked) return;
    live = new LiveQuery(app.connection, node.path, asked,
      (items) => showItems(items, ', kept up to date'), (figures) => showFigures(figures, 'kept up to date'));
    await live.start();
  }

  async function run() {
    const index = order.value === 'child' ? child.value.trim().replace(/^\/|\/$/g, '') : order.value;
    if (!index) { child.focus(); throw new Error('Name the child to order by.'); }
    const count = Number(limit.value);
    if (!Number.isInteger(count) || count < 1 || count > 1000) throw new Error('The limit is a number from 1 to 1000.');
    const query = { i: index, l: count, vf: side.value };
    const byKey = index === '.key';
    const [from, to] = equal.value === '' ? [bound(start.value, byKey), bound(end.value, byKey)]
      : [bound(equal.value, byKey), bound(equal.value, byKey)];
    const full = new Obj(Object.entries(query).map(([key, value]) => [key, typeof value === 'number' ? new Num(String(value)) : value]));
    if (from !== undefined) full.entries.push(['sp', from]);
    if (to !== undefined) full.entries.push(['ep', to]);
    out.replaceChildren(h('p.muted', {}, 'running…'));
    let result;
    try { result = await runQuery(app.connection, node.path, full); } catch (error) {
      out.replaceChildren();
      throw error;
    }
    const entries = result.value instanceof Obj ? result.value.entries.filter(([key]) => !key.startsWith('.')) : [];
    const lines = indexLines(node.keys, index);
    out.replaceChildren(...[
      result.isUnindexed && notice('The server looked at every child, for want of an index. Add to the rules: ', lines),
      h('p', {}, `${entries.length} ${entries.length === 1 ? 'child' : 'children'}${entries.length === count ? ', as many as the limit lets through' : ''}`),
      list(entries),
    ].filter(Boolean));
    panel.lastQuery = stringify(full);
  }
  return panel;
}
