// A line over time, as SVG: for each column of pixels the least and the greatest value.
import { h, s } from './dom.js';

const width = 600;
const height = 120;

/** The next of 1, 2, 5, 10, … that is not below `value`. */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999999);
}

/**
 * Paths of the line and of the area below it. Samples are `[time, value]`, a value of null is a gap.
 * @returns {{ line: string, area: string, top: number }}
 */
export function trace(samples, start, end) {
  const columns = new Map();
  let greatest = 0;
  for (const [time, value] of samples) {
    if (time < start || time > end) continue;
    const x = Math.round(((time - start) / (end - start)) * width);
    const known = columns.get(x) ?? { low: Infinity, high: -Infinity, gap: false };
    if (value === null) known.gap = true;
    else {
      known.low = Math.min(known.low, value);
      known.high = Math.max(known.high, value);
      greatest = Math.max(greatest, value);
    }
    columns.set(x, known);
  }
  const top = niceCeiling(greatest);
  const y = (value) => (height - (value / top) * (height - 4)).toFixed(1);
  let [line, area, run] = ['', '', []];
  const finish = () => {
    if (run.length > 1) area += `M${run[0].split(',')[0]},${height}L${run.join(' ')}L${run.at(-1).split(',')[0]},${height}Z`;
    run = [];
  };
  for (const [x, { low, high, gap }] of [...columns].sort((a, b) => a[0] - b[0])) {
    if (gap || low === Infinity) { finish(); continue; }
    line += `${run.length ? 'L' : 'M'}${x},${y(high)}`;
    if (low !== high) line += `L${x},${y(low)}`;
    run.push(`${x},${y(high)}`);
  }
  finish();
  return { line, area, top };
}

/** A chart with its name, what it shows now, and a table for those who do not see it. */
export function chart(label, format) {
  const now = h('span', {}, '–');
  const line = s('path', { class: 'line' });
  const area = s('path', { class: 'area' });
  const grid = s('path', { class: 'grid', d: [0, 0.5, 1].map((part) => `M0,${height - part * (height - 4)}H${width}`).join('') });
  const drawing = s('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' }, grid, area, line);
  const [scale, span] = [h('span'), h('span')];
  const element = h('figure.chart', {}, h('figcaption', {}, h('span', {}, label), now), drawing, h('div.scale', {}, span, scale));
  return {
    element,
    show(samples, start, end) {
      const made = trace(samples, start, end);
      line.setAttribute('d', made.line);
      area.setAttribute('d', made.area);
      const values = samples.filter(([time, value]) => time >= start && value !== null).map(([, value]) => value);
      const last = values.at(-1);
      now.textContent = last === undefined ? '–' : format(last);
      scale.textContent = `up to ${format(made.top)}`;
      span.textContent = `${Math.round((end - start) / 60_000)} min`;
      drawing.setAttribute('aria-label', values.length === 0 ? `${label}: nothing yet`
        : `${label}: now ${format(last)}, from ${format(Math.min(...values))} to ${format(Math.max(...values))}`);
    },
  };
}
