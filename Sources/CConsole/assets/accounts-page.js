// The accounts of the project.
import { ask, confirmed } from './dialog.js';
import { announce, choice, field, foreign, guarded, h } from './dom.js';
import { time } from './format.js';
import { visible } from './keys.js';
import { table } from './table.js';

const place = '/identitytoolkit.googleapis.com/v1/projects/-/accounts';
const pageSize = 50;

const methods = (user) => {
  const names = (user.providerUserInfo ?? []).map((info) => info.providerId);
  return names.length ? names.join(', ') : user.email ? 'e-mail' : 'anonymous';
};

/** Browsers refuse addresses that are not ASCII in a control of the type `email`; the server takes them. */
const addressField = (value = '', properties = {}) => h('input', {
  type: 'text', inputMode: 'email', value, autocomplete: 'off', autocapitalize: 'off', spellcheck: false, ...properties,
});

export class AccountsPage {
  title = 'Accounts';

  constructor(app) {
    this.app = app;
    this.pages = [''];
    this.field = h('input', { type: 'search', 'aria-label': 'Search', placeholder: 'E-mail address, user id or phone number' });
    this.status = h('p.status', { role: 'status' });
    this.previous = h('button', { type: 'button', onclick: guarded(() => this.turn(-1)) }, 'Previous');
    this.next = h('button', { type: 'button', onclick: guarded(() => this.turn(1)) }, 'Next');
    this.list = table({
      label: 'Accounts', columns: [
        { name: 'email', label: 'Account', cell: (user) => h('button.link', { type: 'button', 'data-focus': user.localId, onclick: guarded(() => this.open(user)) }, foreign(visible(user.email ?? user.phoneNumber ?? user.localId))) },
        { name: 'name', label: 'Name', cell: (user) => foreign(visible(user.displayName ?? '')) },
        { name: 'id', label: 'User id', cell: (user) => foreign(visible(user.localId), { className: 'mono' }) },
        { name: 'methods', label: 'Signs in by', cell: methods },
        { name: 'state', label: 'State', cell: (user) => [user.disabled && 'disabled', user.email && !user.emailVerified && 'not verified'].filter(Boolean).join(', ') || 'active' },
        { name: 'created', label: 'Created', cell: (user) => (user.createdAt ? time(user.createdAt) : '') },
        { name: 'seen', label: 'Last sign-in', cell: (user) => (user.lastLoginAt ? time(user.lastLoginAt) : 'never') },
      ],
    });
    this.element = h('section.page', { 'aria-labelledby': 'accounts-title' }, h('h1', { id: 'accounts-title' }, 'Accounts'),
      h('form.tools', { role: 'search', onsubmit: guarded(async (event) => { event.preventDefault(); this.pages = ['']; await this.load(); }) },
        this.field, h('button', { type: 'submit' }, 'Search'),
        h('button.primary', { type: 'button', onclick: guarded(() => this.create()) }, 'Create account…')),
      this.status, this.list.element, h('div.tools', {}, this.previous, this.next));
  }

  async ask(method, operation, body) {
    const answer = await this.app.connection.rest(method, place + operation, body === undefined ? undefined : JSON.stringify(body));
    if (answer.status !== 200) throw new Error(answer.body?.error?.message ?? answer.body?.error ?? `The server answers ${answer.status}.`);
    return answer.body;
  }

  show() { return this.load(); }

  async load() {
    const words = this.field.value.trim();
    let users;
    if (words) {
      const expression = [{ userId: words }];
      if (words.includes('@')) expression.push({ email: words });
      if (/^\+?\d+$/.test(words)) expression.push({ phoneNumber: words });
      users = (await this.ask('POST', ':query', { expression })).userInfo ?? [];
      this.token = undefined;
      this.status.textContent = users.length ? `${users.length} found` : 'Nobody has exactly this address, id or number.';
    } else {
      const token = this.pages.at(-1);
      const query = new URLSearchParams({ maxResults: pageSize, returnPasswords: 'false', ...(token && { nextPageToken: token }) });
      const answer = await this.ask('GET', `:batchGet?${query}`);
      users = answer.users ?? [];
      this.token = answer.nextPageToken;
      this.status.textContent = users.length === 0 && this.pages.length === 1 ? 'There are no accounts yet.'
        : `Page ${this.pages.length}, ${users.length} accounts${this.token ? '; more follow' : ''}`;
    }
    this.list.show(users);
    this.previous.disabled = this.pages.length === 1;
    this.next.disabled = !this.token;
  }

  async turn(way) {
    if (way > 0) this.pages.push(this.token); else this.pages.pop();
    await this.load();
  }

  async create() {
    const email = addressField('', { autofocus: true });
    const password = h('input', { type: 'password', autocomplete: 'new-password' });
    const name = h('input', { type: 'text', autocomplete: 'off' });
    const made = await ask({
      title: 'Create an account', confirm: 'Create',
      body: [field('E-mail address', email), field('Password', password), field('Name', name)],
      read: () => this.ask('POST', '', {
        email: email.value.trim() || undefined, password: password.value || undefined, displayName: name.value || undefined,
      }),
    });
    if (!made) return;
    announce(`Created ${visible(made.email ?? made.localId)}.`);
    await this.load();
  }

  /** Opens an account, which is read again: the list may be old. */
  async open({ localId }) {
    if (this.isOpening) return;
    this.isOpening = true;
    let found;
    try {
      found = (await this.ask('POST', ':query', { expression: [{ userId: localId }] })).userInfo ?? [];
    } finally {
      this.isOpening = false;
    }
    await this.edit(localId, found[0]);
  }

  async edit(id, user) {
    if (!user) {
      announce(`The account ${visible(id)} is gone.`, { kind: 'error' });
      await this.load();
      return;
    }
    const shown = visible(user.email ?? id);
    const email = addressField(user.email);
    const name = h('input', { type: 'text', value: user.displayName ?? '', autocomplete: 'off' });
    const password = h('input', { type: 'password', autocomplete: 'new-password' });
    const disabled = h('input', { type: 'checkbox', checked: Boolean(user.disabled), id: 'user-disabled' });
    const verified = h('input', { type: 'checkbox', checked: Boolean(user.emailVerified), id: 'user-verified' });
    const claims = h('textarea', { rows: 5, spellcheck: false, value: user.customAttributes ?? '{}' });
    const changed = (now, before) => (now === before ? undefined : now);
    // Controls change line breaks.
    const [nameShown, claimsShown] = [name.value, claims.value];
    const link = h('output.mono');
    const kind = choice([['VERIFY_EMAIL', 'verify the address'], ['PASSWORD_RESET', 'reset the password'], ['EMAIL_SIGNIN', 'sign in by e-mail']], 'PASSWORD_RESET', { 'aria-label': 'Kind of link' });
    const done = await ask({
      title: 'Account', confirm: 'Save', wide: true, alternatives: [['Delete…', 'delete']],
      body: [
        h('p', {}, foreign(shown), ' ', h('code', {}, foreign(visible(id)))),
        h('p.muted', {}, `Signs in by ${methods(user)}; created ${user.createdAt ? time(user.createdAt) : 'long ago'}; last sign-in ${user.lastLoginAt ? time(user.lastLoginAt) : 'never'}.`),
        field('E-mail address', email), field('Name', name), field('New password', password, 'Empty: the password stays.'),
        h('div.tools', {}, disabled, h('label', { for: disabled.id }, 'Disabled'), verified, h('label', { for: verified.id }, 'Address is verified')),
        field('Custom claims', claims, 'A JSON object, which the rules see in auth.token.'),
        h('div.tools', {}, h('button', { type: 'button', onclick: guarded(async () => {
          await this.ask('POST', ':update', { localId: id, validSince: String(Math.floor(Date.now() / 1000)) });
          announce(`All sessions of ${shown} were ended.`);
        }) }, 'Sign out everywhere'), kind, h('button', { type: 'button', disabled: !user.email, onclick: guarded(async () => {
          const answer = await this.ask('POST', ':sendOobCode', { requestType: kind.value, email: user.email, returnOobLink: true, continueUrl: kind.value === 'EMAIL_SIGNIN' ? location.origin : undefined });
          link.textContent = answer.oobLink ?? 'The link was sent.';
        }) }, 'Make a link')), link,
      ],
      read: async () => {
        let attributes;
        try { attributes = JSON.parse(claims.value); } catch { throw new Error('The claims are no JSON.'); }
        if (attributes === null || typeof attributes !== 'object' || Array.isArray(attributes)) throw new Error('The claims are a JSON object.');
        const address = email.value.trim();
        const newEmail = address && address !== user.email ? address : undefined;
        const removed = [!address && user.email && 'EMAIL', changed(name.value, nameShown) === '' && 'DISPLAY_NAME'].filter(Boolean);
        await this.ask('POST', ':update', {
          localId: id, email: newEmail,
          displayName: changed(name.value, nameShown) || undefined,
          deleteAttribute: removed.length ? removed : undefined,
          // Somebody else may have changed the others meanwhile.
          password: password.value || undefined, disableUser: changed(disabled.checked, Boolean(user.disabled)),
          emailVerified: newEmail ? verified.checked : changed(verified.checked, Boolean(user.emailVerified)),
          // As it was typed: claims may have integers that JavaScript has not.
          customAttributes: changed(claims.value, claimsShown),
        });
        return 'saved';
      },
    });
    if (done === 'delete') await this.remove(user, shown);
    else if (done) announce(`Saved ${shown}.`);
    await this.load();
  }

  async remove(user, shown) {
    const isSure = await confirmed('Delete this account?', `${shown} loses access at once, and cannot be brought back. Data in the database stays.`, 'Delete', { word: user.email ?? user.localId });
    if (!isSure) return;
    await this.ask('POST', ':delete', { localId: user.localId });
    announce(`Deleted ${shown}.`);
  }
}
