// One realtime connection to one database (Protocol.md), signed in as an administrator. It comes back by itself.
import { Obj, parse, plain, stringify } from './json.js';

export class RequestError extends Error {
  constructor(status, text) {
    super(text || status);
    this.status = status;
  }
}

const silence = 45_000;
const longest = 15_000;

/** Events: `state`, when `state` or `reason` changes; `ready`, after each sign-in; `push:NAME`, with `data`. */
export class Connection extends EventTarget {
  /** `opening`, `ready`, `waiting` for the next attempt, `denied` or `closed`. */
  state = 'opening';
  reason = '';
  #socket = null;
  #waiting = new Map();
  #number = 0;
  #chunks = null;
  #attempt = 0;
  #timer = 0;
  #beat = 0;

  /**
   * @param {string} database
   * @param {{ token(): string | null, ended(reason: string): void }} session
   */
  constructor(database, session) {
    super();
    this.database = database;
    this.session = session;
    this.wake = () => { if (this.state === 'waiting') this.#open(); };
    addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.#open();
  }

  /** When the next attempt is made, in milliseconds since 1970. */
  retryAt = 0;

  retryNow() { this.wake(); }

  /** Signs in anew, after the credential has ended. */
  reopen() { this.#attempt = 0; this.#open(); }

  #become(state, reason = '') {
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event('state'));
  }

  #open() {
    clearTimeout(this.#timer);
    const url = new URL('/.ws', location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    url.search = new URLSearchParams({ v: '5', ns: this.database }).toString();
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#chunks = null;
    this.#become('opening', this.reason);
    socket.onmessage = (event) => { if (socket === this.#socket) this.#receive(event.data); };
    socket.onclose = (event) => { if (socket === this.#socket) this.#lost(event.reason); };
    // A host that does not answer at all.
    this.#timer = setTimeout(() => socket.close(), 20_000);
  }

  #lost(reason) {
    clearTimeout(this.#timer);
    clearInterval(this.#beat);
    this.#socket = null;
    for (const { reject } of this.#waiting.values()) {
      reject(new RequestError('disconnected', 'The connection was lost before the server answered.'));
    }
    this.#waiting.clear();
    if (this.state === 'closed' || this.state === 'denied') return;
    const delay = Math.min(longest, 300 * 2 ** this.#attempt) * (0.75 + Math.random() / 2);
    this.#attempt += 1;
    this.retryAt = Date.now() + delay;
    this.#timer = setTimeout(() => this.#open(), delay);
    this.#become('waiting', reason || 'The server does not answer.');
  }

  async #signIn() {
    clearTimeout(this.#timer);
    try {
      await this.#send('gauth', { cred: this.session.token() ?? '' });
      this.#attempt = 0;
      clearInterval(this.#beat);
      this.#beat = setInterval(() => this.#socket?.send('0'), silence);
      this.#become('ready');
      this.dispatchEvent(new Event('ready'));
    } catch (error) {
      if (error.status === 'disconnected') return;
      this.#become('denied', error.message);
      this.#socket?.close();
      this.session.ended(error.message);
    }
  }

  /** Shows a renewed token. */
  authenticate() { return this.request('gauth', { cred: this.session.token() ?? '' }); }

  #receive(frame) {
    if (this.#chunks) {
      this.#chunks.parts.push(frame);
      if (this.#chunks.parts.length < this.#chunks.count) return;
      const text = this.#chunks.parts.join('');
      this.#chunks = null;
      return this.#handle(text);
    }
    if (/^\d+$/.test(frame)) {
      this.#chunks = { count: Number(frame), parts: [] };
      return undefined;
    }
    return this.#handle(frame);
  }

  #handle(text) {
    const message = parse(text);
    const data = message.get('d');
    if (!(data instanceof Obj)) return;
    if (message.get('t') === 'c') {
      const kind = data.get('t');
      if (kind === 'h') this.#signIn();
      else if (kind === 's') this.#refuse(String(data.get('d')));
      return;
    }
    const number = data.get('r');
    const body = data.get('b');
    if (number) {
      const request = this.#waiting.get(number.value);
      this.#waiting.delete(number.value);
      if (!request) return;
      const status = body.get('s');
      if (status === 'ok') request.resolve(body.get('d') ?? null);
      else request.reject(new RequestError(status, String(body.get('d') ?? status)));
      return;
    }
    const name = data.get('a');
    if (name === 'ac') {
      this.#become('denied', String(body.get('d')));
      this.#socket?.close();
      this.session.ended(String(body.get('d')));
      return;
    }
    const event = new Event(`push:${name}`);
    event.data = body.get('d');
    event.body = body;
    this.dispatchEvent(event);
  }

  #refuse(text) {
    this.#become('denied', text);
    this.#socket?.close();
  }

  #send(action, body) {
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) {
        reject(new RequestError('disconnected', 'There is no connection to the server.'));
        return;
      }
      this.#number += 1;
      this.#waiting.set(this.#number, { resolve, reject });
      this.#socket.send(stringify({ t: 'd', d: { r: this.#number, a: action, b: body } }));
    });
  }

  /** The answer, as `parse` has it. */
  request(action, body) {
    if (this.state !== 'ready') {
      return Promise.reject(new RequestError('disconnected', 'There is no connection to the server.'));
    }
    return this.#send(action, body);
  }

  /** A command of administrators. */
  admin(command, members = {}) { return this.request('admin', { c: command, ...members }); }

  /** A request that administrators make over HTTP: its status and its body, as plain values. */
  async rest(method, target, body) {
    return plain(await this.admin('rest', { m: method, u: target, d: body === undefined ? undefined : body }));
  }

  close() {
    this.#become('closed');
    removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    clearTimeout(this.#timer);
    this.#socket?.close();
  }
}
