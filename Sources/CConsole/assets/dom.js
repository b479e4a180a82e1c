// Building the page. Text never becomes markup: children are nodes or text.

/**
 * @param {string} name such as `button.primary`
 * @param {Record<string, any>} [properties] `on…` are listeners, names with a dash or `role` attributes, others properties
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function h(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  set(element, properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** Sets listeners, attributes and properties as `h` does. */
export function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name.includes('-') || name === 'role' || name === 'for') {
      if (value === null || value === undefined || value === false) element.removeAttribute(name);
      else element.setAttribute(name, String(value));
    } else if (value !== undefined) element[name] = value;
  }
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** An element of a drawing. */
export function s(name, attributes = {}, ...children) {
  const element = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Text of others, kept in its own direction. */
export const foreign = (text, properties = {}) => h('bdi', properties, text);

let count = 0;
export const newID = (name) => `${name}-${(count += 1)}`;

/** A labelled control. */
export function field(label, control, hint) {
  control.id ||= newID('field');
  const parts = [h('label', { for: control.id }, label), control];
  if (hint) {
    const note = h('small', { id: newID('hint') }, hint);
    control.setAttribute('aria-describedby', note.id);
    parts.push(note);
  }
  return h('div.field', {}, parts);
}

/** A choice among `[value, label]`. */
export function choice(options, value, properties = {}) {
  const control = h('select', properties, options.map(([key, label]) => h('option', { value: key }, label)));
  if (value !== undefined) control.value = value;
  return control;
}

/** Says something to everybody, for some seconds; to screen readers too. */
export function announce(text, { kind = 'info', action } = {}) {
  const area = document.getElementById('notices');
  const notice = h(`div.notice.${kind}`, { role: kind === 'error' ? 'alert' : 'status' }, h('span', {}, text));
  const close = () => notice.remove();
  if (action) {
    notice.append(h('button', { type: 'button', onclick: () => { close(); action.run(); } }, action.label));
  }
  notice.append(h('button.quiet', { type: 'button', 'aria-label': 'Dismiss', onclick: close }, '×'));
  area.append(notice);
  while (area.children.length > 4) area.firstElementChild.remove();
  setTimeout(close, action ? 15_000 : kind === 'error' ? 12_000 : 5_000);
  return close;
}

export const report = (error) => announce(error.message ?? String(error), { kind: 'error' });

/** A listener that shows what goes wrong. */
export const guarded = (run) => async (...input) => {
  try { return await run(...input); } catch (error) { report(error); return undefined; }
};
