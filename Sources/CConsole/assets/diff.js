// What is different between two texts, line by line (Myers, 1986).

/** With more edits, what is left is shown as removed and added: a search takes time and memory by their square. */
const editsMax = 1000;

/** @returns {['same' | 'added' | 'removed', string][]} */
export function diffLines(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const length = Math.min(a.length, b.length);
  let [head, tail] = [0, 0];
  while (head < length && a[head] === b[head]) head += 1;
  while (tail < length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const same = (line) => ['same', line];
  return [...a.slice(0, head).map(same), ...search(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same)];
}

function search(a, b) {
  const [n, m] = [a.length, b.length];
  const top = Math.min(n + m, editsMax);
  // How far each diagonal k was followed, at `reach[k + top + 1]`.
  const reach = new Int32Array(2 * top + 3).fill(-1);
  reach[top + 2] = 0;
  const goesDown = (known, at, edits, k) => k === -edits || (k !== edits && known[at - 1] < known[at + 1]);
  /** The diagonals from -edits to edits, and one beside them on each side, as they were before each step. */
  const traces = [];
  /** The furthest point within both, and after how many edits. */
  let [x, y, last] = [0, 0, 0];
  let isFound = false;
  for (let edits = 0; edits <= top && !isFound; edits += 1) {
    traces.push(reach.slice(top - edits, top + edits + 3));
    for (let k = -edits; k <= edits && !isFound; k += 2) {
      const at = k + top + 1;
      let to = goesDown(reach, at, edits, k) ? reach[at + 1] : reach[at - 1] + 1;
      while (to < n && to - k < m && a[to] === b[to - k]) to += 1;
      reach[at] = to;
      isFound = to >= n && to - k >= m;
      if (to <= n && to - k <= m && 2 * to - k > x + y) [x, y, last] = [to, to - k, edits];
    }
  }
  const out = [];
  let rest = [x, y];
  for (let edits = last; edits >= 0; edits -= 1) {
    const known = traces[edits];
    const k = x - y;
    // The trace begins at the diagonal -edits - 1.
    const at = k + edits + 1;
    const from = goesDown(known, at, edits, k) ? k + 1 : k - 1;
    const fromX = edits === 0 ? 0 : known[from + edits + 1];
    const fromY = edits === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) { x -= 1; y -= 1; out.push(['same', a[x]]); }
    if (edits === 0) break;
    if (x === fromX) { y -= 1; out.push(['added', b[y]]); } else { x -= 1; out.push(['removed', a[x]]); }
    // The rest begins behind the last line that is the same.
    if (!isFound && out.length === 1) { out.pop(); rest = [x, y]; }
  }
  return [...out.reverse(), ...a.slice(rest[0]).map((line) => ['removed', line]), ...b.slice(rest[1]).map((line) => ['added', line])];
}

/** The same with few lines around each difference. */
export function shortDiff(before, after, around = 3) {
  const lines = diffLines(before, after);
  const near = new Uint8Array(lines.length);
  lines.forEach(([kind], index) => { if (kind !== 'same') near.fill(1, Math.max(0, index - around), index + around + 1); });
  const out = [];
  lines.forEach((line, index) => {
    if (near[index]) out.push(line);
    else if (out.at(-1)?.[0] !== 'gap') out.push(['gap', '…']);
  });
  return out;
}
