// Asking again and again while a screen is shown.

/** Calls `ask` at once and then at least `interval` apart, while the page is visible. */
export class Poll {
  #timer = 0;
  #isOn = false;

  constructor(interval, ask, failed) { Object.assign(this, { interval, ask, failed }); }

  start() {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#run();
  }

  stop() {
    this.#isOn = false;
    clearTimeout(this.#timer);
  }

  async #run() {
    if (!document.hidden) {
      try { await this.ask(); } catch (error) { if (error.status !== 'disconnected') this.failed?.(error); }
    }
    if (this.#isOn) this.#timer = setTimeout(() => this.#run(), this.interval);
  }
}
