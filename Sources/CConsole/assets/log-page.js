// The last lines of the server's log.
import { choice, foreign, h, report } from './dom.js';
import { whole } from './format.js';
import { visible } from './keys.js';
import { Poll } from './poll.js';

const levels = ['debug', 'info', 'warning', 'error'];

export class LogPage {
  title = 'Log';

  constructor(app) {
    this.app = app;
    this.level = choice(levels.map((level) => [level, `${level} and above`]), 'debug', { 'aria-label': 'Level', onchange: () => this.draw() });
    this.filter = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'Filter', oninput: () => this.draw() });
    this.pause = h('input', { type: 'checkbox', id: 'log-pause' });
    this.status = h('p.status', { role: 'status' });
    this.box = h('div.log', { tabIndex: 0, role: 'log', 'aria-label': 'Log', 'aria-live': 'off' });
    this.element = h('section.page', { 'aria-labelledby': 'log-title' }, h('h1', { id: 'log-title' }, 'Log'),
      h('div.tools', {}, this.level, this.filter, this.pause, h('label', { for: 'log-pause' }, 'Pause')), this.status, this.box);
    this.poll = new Poll(2000, () => this.load(), report);
    this.lines = [];
  }

  async load() {
    if (this.pause.checked) return;
    this.lines = (await this.app.connection.admin('log', { n: 1000 })).get('lines');
    this.draw();
  }

  draw() {
    const least = levels.indexOf(this.level.value);
    const words = this.filter.value.toLowerCase();
    const rank = (line) => levels.indexOf(/^\S+\s+(\w+)/.exec(line)?.[1] ?? 'info');
    const shown = this.lines.filter((line) => rank(line) >= least && (!words || line.toLowerCase().includes(words)));
    const isAtEnd = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 30;
    this.box.replaceChildren(...shown.map((line) => h(`div.${levels[Math.max(rank(line), 0)]}`, {}, foreign(visible(line)))));
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
    this.status.textContent = `${whole(shown.length)} of the last ${whole(this.lines.length)} lines`;
  }

  show() { this.poll.start(); }
  hide() { this.poll.stop(); }
}
