// Who is at the page. The token is kept in memory only: it ends with the page.

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** As which every server takes assertions, by whatever name it is reached. */
const anyServer = 'https://oauth2.googleapis.com/token';

const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
const encode = (value) => base64url(new TextEncoder().encode(JSON.stringify(value)));

/** Events: `begun`, with each sign-in; `ended`, with `reason`. */
export class Session extends EventTarget {
  #token = null;
  #timer = 0;
  isDevelopment = false;
  database = 'default';
  /** The service account of a key, where that was dropped on the page. */
  account = '';

  async load() {
    const answer = await fetch('session', { cache: 'no-store' });
    if (!answer.ok) throw new Error(`The server refuses the console: ${await answer.text()}`);
    const { development, database } = await answer.json();
    this.isDevelopment = development;
    this.database = database;
    // Development mode believes everybody.
    if (development) this.#token = 'owner';
  }

  get isSignedIn() { return this.#token !== null; }
  token() { return this.#token; }

  /** Exchanges an assertion for an access token. */
  async exchange(assertion) {
    const answer = await fetch('/token', {
      method: 'POST', body: new URLSearchParams({ grant_type: grant, assertion }), cache: 'no-store',
      referrerPolicy: 'no-referrer',
    });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.error_description ?? body.error ?? `The server answers ${answer.status}.`);
    this.#take(body);
    this.dispatchEvent(new Event('begun'));
  }

  /** Signs in with the text of a key file. The private key does not leave the page, and is not kept. */
  async signIn(text) {
    let key;
    try { key = JSON.parse(text); } catch { throw new Error('This file is no key: it is not JSON.'); }
    const { client_email: account, private_key_id: id, private_key: pem } = key ?? {};
    if (typeof account !== 'string' || typeof id !== 'string' || typeof pem !== 'string') {
      throw new Error('This file is no key of “hearth admin create-key”.');
    }
    const body = pem.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '');
    let signer;
    try {
      const der = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
      signer = await crypto.subtle.importKey(
        'pkcs8', der, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, ['sign']);
    } catch { throw new Error('The private key in this file cannot be read.'); }
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: account, sub: account, aud: anyServer, iat: now, exp: now + 120, jti: crypto.randomUUID(),
    };
    const head = `${encode({ alg: 'RS256', typ: 'JWT', kid: id })}.${encode(claims)}`;
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', signer, new TextEncoder().encode(head));
    await this.exchange(`${head}.${base64url(signature)}`);
    this.account = account;
  }

  #take({ access_token: token, expires_in: seconds }) {
    this.#token = token;
    clearTimeout(this.#timer);
    // Early enough for a second attempt; at once after a computer has slept.
    this.#timer = setTimeout(() => this.#renew(), Math.max(seconds - 600, seconds / 2) * 1000);
  }

  /** Set while there is a connection: asks the server for another token, and shows it. */
  connection = null;

  async #renew() {
    try {
      const body = await this.connection?.admin('renew');
      if (!body) return;
      this.#take({ access_token: body.get('access_token'), expires_in: body.get('expires_in').value });
      await this.connection.authenticate();
    } catch (error) {
      if (error.status === 'disconnected') this.#timer = setTimeout(() => this.#renew(), 30_000);
      else this.ended(error.message);
    }
  }

  ended(reason) {
    if (this.isDevelopment) return;
    this.#token = null;
    clearTimeout(this.#timer);
    const event = new Event('ended');
    event.reason = reason;
    this.dispatchEvent(event);
  }
}
