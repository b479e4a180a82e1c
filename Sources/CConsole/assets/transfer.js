// Whole nodes to files and back, over HTTP, with progress.
import { ask, confirmed } from './dialog.js';
import { announce, choice, field, foreign, h } from './dom.js';
import { bytes, time } from './format.js';
import { visible } from './keys.js';

function address(app, path, parameters = {}) {
  const place = path.split('/').map(encodeURIComponent).join('/');
  const query = new URLSearchParams({ ns: app.database, ...parameters });
  return `${place === '/' ? '/' : place}.json?${query}`;
}

/** A bar that says how far something is; `stop` ends it. */
function progress(title, stop) {
  const bar = h('progress', { 'aria-label': title });
  const text = h('span', {}, '');
  const note = h('div.notice', { role: 'status' }, h('span', {}, title), bar, text,
    h('button', { type: 'button', onclick: stop }, 'Stop'));
  document.getElementById('notices').append(note);
  return {
    /** All is sent, and nobody knows how long the rest takes. */
    wait(words) {
      bar.removeAttribute('value');
      text.textContent = words;
    },
    show(done, total) {
      if (total) { bar.max = total; bar.value = done; }
      text.textContent = total ? `${bytes(done)} of ${bytes(total)}` : bytes(done);
    },
    end() { note.remove(); },
  };
}

const fileName = (app, path) => {
  const name = [app.database, ...path.split('/').filter(Boolean)].join('-').replace(/[^\p{L}\p{N}_-]+/gu, '_').slice(0, 80);
  return `${name}-${time(Date.now()).replace(/[: ]/g, '')}.json`;
};

/** Hands bytes to the browser as a file. */
export function save(parts, name, type = 'application/json') {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export async function exportNode(app, path) {
  const stop = new AbortController();
  const state = progress(`Exporting ${visible(path)}`, () => stop.abort());
  try {
    const answer = await fetch(address(app, path, { format: 'export' }), {
      headers: { Authorization: `Bearer ${app.session.token()}` }, signal: stop.signal, cache: 'no-store',
    });
    if (!answer.ok) throw new Error((await answer.json().catch(() => null))?.error ?? `The server answers ${answer.status}.`);
    const total = Number(answer.headers.get('content-length')) || 0;
    const parts = [];
    let done = 0;
    for (const reader = answer.body.getReader(); ;) {
      const { value, done: isOver } = await reader.read();
      if (isOver) break;
      parts.push(value);
      done += value.length;
      state.show(done, total);
    }
    const name = fileName(app, path);
    save(parts, name);
    announce(`Exported ${bytes(done)} to ${name}.`);
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
    announce('The export was stopped; there is no file.');
  } finally { state.end(); }
}

function send(app, method, path, file, state, stop) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    stop.signal.addEventListener('abort', () => request.abort());
    request.open(method, address(app, path, { print: 'silent' }));
    request.setRequestHeader('Authorization', `Bearer ${app.session.token()}`);
    request.setRequestHeader('Content-Type', 'application/json');
    request.upload.onprogress = (event) => state.show(event.loaded, event.total);
    request.upload.onload = () => state.wait('The server is writing…');
    request.onerror = () => reject(new Error('The connection was lost; look at what has been written.'));
    request.onabort = () => reject(Object.assign(new Error(), { name: 'AbortError' }));
    request.onload = () => {
      if (request.status < 300) return resolve();
      let text = `The server answers ${request.status}.`;
      try { text = JSON.parse(request.responseText).error ?? text; } catch { /* as it is */ }
      return reject(new Error(text));
    };
    request.send(file);
  });
}

const fileMax = 256 << 20;

export async function importNode(app, node) {
  const input = h('input', { type: 'file', accept: '.json,application/json' });
  const way = choice([['PATCH', 'add to what is there, replacing children of the same key'], ['PUT', 'replace all that is there']], 'PATCH');
  const chosen = await ask({
    title: 'Import JSON', confirm: 'Import',
    body: [h('p', {}, 'into ', h('code', {}, foreign(visible(node.path)))), field('File', input), field('How', way)],
    read: () => {
      const file = input.files[0];
      if (!file) throw new Error('Choose a file.');
      if (file.size > fileMax) throw new Error(`A file has ${bytes(fileMax)} at most here: use hearth import for larger ones.`);
      return { file, method: way.value };
    },
  });
  if (!chosen) return;
  if (chosen.method === 'PUT' && node.type !== 'null') {
    const isSure = await confirmed('Replace what is there?', [h('p', {}, 'All of ', h('code', {}, foreign(visible(node.path))),
      ' in the database ', h('strong', {}, app.database), ' will be replaced by the file. This cannot be undone here.')],
    'Replace', { word: node.keys.at(-1) ?? app.database });
    if (!isSure) return;
  }
  const stop = new AbortController();
  const state = progress(`Importing ${chosen.file.name}`, () => stop.abort());
  try {
    await send(app, chosen.method, node.path, chosen.file, state, stop);
    announce(`Imported ${chosen.file.name}.`);
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
    announce('The import was stopped. Nothing was written, unless it had just arrived.');
  } finally { state.end(); }
}
