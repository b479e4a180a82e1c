// The page as a whole: signing in, the connection, and which screen is shown.
import { announce, choice, h, report, set } from './dom.js';
import { pages } from './pages.js';
import { Session } from './session.js';
import { showProblem, showSignIn } from './sign-in.js';
import { Connection } from './socket.js';
import { visible } from './keys.js';

const main = document.getElementById('main');
const databases = document.getElementById('database');
const status = document.getElementById('connection');
const links = document.getElementById('pages');
const theme = document.getElementById('theme');
const signOut = document.getElementById('sign-out');

const session = new Session();

/**
 * What screens know of the whole. Each database that is opened has one of its own: what a screen has begun goes on in
 * its database, whichever is shown by then.
 */
const makeApp = (database, connection) => Object.freeze({
  session,
  /** @type {Connection} */
  connection,
  database,
  /** @param {string[]} keys */
  address: (page, keys = [], other = database) => `#/${[other, page, ...keys].map(encodeURIComponent).join('/')}`,
  go(page, keys = []) { location.hash = this.address(page, keys); },
});

let app = makeApp('', null);

/** Screens of the database that is shown. They live on while others are shown, with what was typed in them. */
let screens = new Map();
let current = null;

// Looks

function showTheme() {
  document.documentElement.dataset.theme = theme.value;
  try { localStorage.setItem('hearth.theme', theme.value); } catch { /* only for this page, then */ }
}
try { theme.value = localStorage.getItem('hearth.theme') ?? 'auto'; } catch { /* as it is */ }
theme.addEventListener('change', showTheme);
showTheme();

// Where we are

function place() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  const [database = app.database || session.database, page = 'data', ...keys] = parts;
  return { database, page: pages.some(([name]) => name === page) ? page : 'data', keys };
}

async function route() {
  if (!session.isSignedIn) return;
  const { database, page, keys } = place();
  if (database !== app.database || !app.connection) connect(database);
  for (const link of links.children) set(link, { 'aria-current': link.dataset.page === page ? 'page' : null });
  for (const link of links.children) link.href = app.address(link.dataset.page);
  let screen = screens.get(page);
  if (!screen) {
    const [, , Screen] = pages.find(([name]) => name === page);
    screen = new Screen(app);
    screens.set(page, screen);
  }
  if (current && current !== screen) current.hide?.();
  if (current !== screen) main.replaceChildren(screen.element);
  current = screen;
  document.title = `${screen.title} · ${visible(database)} · Hearth`;
  const { connection } = app;
  await ready(connection);
  // Meanwhile somebody may have gone on.
  if (current !== screen || connection !== app.connection) return;
  try { await screen.show(place().keys); } catch (error) { if (error.status !== 'disconnected') report(error); }
}

const ready = (connection) => (connection.state === 'ready' ? Promise.resolve()
  : new Promise((resolve) => { connection.addEventListener('ready', resolve, { once: true }); }));

// The connection

function connect(database) {
  current?.hide?.();
  current = null;
  for (const screen of screens.values()) screen.close?.();
  screens = new Map();
  // A question about the database that was shown has nothing to do with this one.
  for (const dialog of document.querySelectorAll('dialog:not(.sign-in)')) dialog.close();
  app.connection?.close();
  const connection = new Connection(database, session);
  app = makeApp(database, connection);
  session.connection = connection;
  connection.addEventListener('state', () => { if (connection === app.connection) showState(connection); });
  connection.addEventListener('ready', () => {
    listDatabases().catch(() => {});
    current?.ready?.();
  });
  showState(connection);
}

function showState(connection) {
  status.className = connection.state;
  const text = {
    opening: 'Connecting…', ready: 'Connected', denied: connection.reason, closed: '',
    waiting: 'No connection: trying again',
  }[connection.state];
  status.replaceChildren(h('span.dot', { 'aria-hidden': 'true' }), h('span', {}, text));
  status.title = connection.reason;
  document.body.classList.toggle('offline', connection.state !== 'ready');
  if (connection.state === 'waiting') {
    status.append(h('button', { type: 'button', onclick: () => connection.retryNow() }, 'Now'));
  }
}

async function listDatabases() {
  const { connection } = app;
  const answer = await connection.admin('databases');
  if (connection !== app.connection) return;
  const names = answer.get('databases').map((entry) => entry.get('name'));
  if (!names.includes(app.database)) names.push(app.database);
  databases.replaceChildren(...choice(names.map((name) => [name, name])).children);
  databases.value = app.database;
  databases.hidden = false;
}

databases.addEventListener('change', () => {
  const { page } = place();
  location.hash = app.address(page, [], databases.value);
});

// Who is there

function showSession() {
  set(document.getElementById('mode'), { className: `chip ${session.isDevelopment ? 'development' : 'production'}` });
  document.getElementById('mode').textContent = session.isDevelopment ? 'development' : 'production';
  signOut.hidden = session.isDevelopment || !session.isSignedIn;
  document.body.classList.toggle('signed-in', session.isSignedIn);
}

/** Asks for a sign-in in front of the page, which stays as it is. */
async function signIn(reason) {
  await showSignIn(session, reason);
  showSession();
  if (app.connection?.state === 'denied') app.connection.reopen();
  await route();
}

session.addEventListener('ended', (event) => {
  showSession();
  signIn(`The session has ended: ${event.reason}`);
});

signOut.addEventListener('click', () => {
  // Nothing of the session stays in the page.
  location.reload();
});

/** The code of a link, which stays in no list of visited pages, and in no copied address. */
function takeCode(instead = location.pathname) {
  const code = /^#code=(.*)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', instead);
  return code;
}

/** Signs in by the code of a link. Answers what went wrong. */
async function useCode(code) {
  try { await session.exchange(code); } catch (error) { return `The link cannot be used: ${error.message}`; }
  return '';
}

addEventListener('hashchange', async (event) => {
  // A link that is opened here changes no more than the fragment, and the page goes on.
  const code = takeCode(event.oldURL);
  if (code === undefined) { route(); return; }
  if (session.isSignedIn) return;
  const problem = await useCode(code);
  if (problem) showProblem(problem);
});

async function start() {
  const code = takeCode();
  links.append(...pages.map(([name, label]) => h('a', { href: '#/' }, label)));
  [...links.children].forEach((link, index) => { link.dataset.page = pages[index][0]; });
  await session.load();
  let problem = '';
  if (code && !session.isDevelopment) problem = await useCode(code);
  showSession();
  if (!session.isSignedIn) await signIn(problem); else await route();
  document.body.classList.add('started');
}

addEventListener('unhandledrejection', (event) => {
  event.preventDefault();
  if (event.reason?.status === 'disconnected') return;
  console.error(event.reason);
  report(event.reason);
});

start().catch((error) => {
  announce(error.message, { kind: 'error' });
  main.replaceChildren(h('p.problem', {}, error.message));
});
