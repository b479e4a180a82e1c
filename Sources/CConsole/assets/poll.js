// Asking again and again while a screen is shown.

/** Calls `ask` at once and then at least `interval` apart, while the page is visible. */
export class Poll {
  #timer = 0;
  /** That which was started last; 0 while it is stopped. */
  #turn = 0;
  #turns = 0;

  constructor(interval, ask, failed) { Object.assign(this, { interval, ask, failed }); }

  start() {
    if (this.#turn > 0) return;
    this.#turns += 1;
    this.#turn = this.#turns;
    this.#run(this.#turn);
  }

  stop() {
    this.#turn = 0;
    clearTimeout(this.#timer);
  }

  async #run(turn) {
    if (!document.hidden) {
      try { await this.ask(); } catch (error) { if (error.status !== 'disconnected') this.failed?.(error); }
    }
    if (this.#turn === turn) this.#timer = setTimeout(() => this.#run(turn), this.interval);
  }
}
