// Tables that can be sorted by their headers.
import { h } from './dom.js';

/**
 * @param {{ label: string, columns: { name: string, label: string, figure?: boolean, cell(row): any, sort?(row): any }[],
 *           order?: string, down?: boolean }} options
 */
export function table({ label, columns, order = '', down = false }) {
  const body = h('tbody');
  const heads = columns.map((column) => h(`th${column.figure ? '.figure' : ''}`, { scope: 'col' }, column.sort
    ? h('button', { type: 'button', onclick: () => sortBy(column.name) }, column.label) : column.label));
  const element = h('div.table-area', { tabIndex: 0, role: 'region', 'aria-label': label },
    h('table', { 'aria-label': label }, h('thead', {}, h('tr', {}, heads)), body));
  const state = { order, down, rows: [] };

  function sortBy(name) {
    state.down = state.order === name ? !state.down : Boolean(columns.find((column) => column.name === name).figure);
    state.order = name;
    draw();
  }

  function draw() {
    columns.forEach((column, index) => {
      if (column.sort) heads[index].ariaSort = state.order === column.name ? (state.down ? 'descending' : 'ascending') : 'none';
    });
    const column = columns.find(({ name }) => name === state.order);
    const rows = [...state.rows];
    if (column?.sort) {
      const way = state.down ? -1 : 1;
      rows.sort((a, b) => {
        const [x, y] = [column.sort(a), column.sort(b)];
        return x < y ? -way : x > y ? way : 0;
      });
    }
    const focus = document.activeElement?.dataset?.focus;
    body.replaceChildren(...rows.map((row) => h('tr', {}, columns.map((each, index) => {
      const content = each.cell(row);
      return h(`${index === 0 ? 'th' : 'td'}${each.figure ? '.figure' : ''}`, { scope: index === 0 ? 'row' : undefined }, content);
    }))));
    if (focus) body.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
  }

  return { element, show(rows) { state.rows = rows; draw(); } };
}
