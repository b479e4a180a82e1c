// What is different between two texts, line by line (Myers, 1986).

/** @returns {['same' | 'added' | 'removed', string][]} */
export function diffLines(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const [n, m] = [a.length, b.length];
  const traces = [];
  let reach = new Map([[1, 0]]);
  search: for (let edits = 0; edits <= n + m; edits += 1) {
    traces.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      let x = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1))
        ? reach.get(k + 1) : reach.get(k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && a[x] === b[y]) { x += 1; y += 1; }
      reach.set(k, x);
      if (x >= n && y >= m) break search;
    }
  }
  const out = [];
  let [x, y] = [n, m];
  for (let edits = traces.length - 1; edits >= 0; edits -= 1) {
    reach = traces[edits];
    const k = x - y;
    const from = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY) { x -= 1; y -= 1; out.push(['same', a[x]]); }
    if (edits === 0) break;
    if (x === fromX) { y -= 1; out.push(['added', b[y]]); } else { x -= 1; out.push(['removed', a[x]]); }
  }
  return out.reverse();
}

/** The same with few lines around each difference. */
export function shortDiff(before, after, around = 3) {
  const lines = diffLines(before, after);
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - around), index + around + 1).some(([kind]) => kind !== 'same'));
  const out = [];
  lines.forEach((line, index) => {
    if (near[index]) out.push(line);
    else if (out.at(-1)?.[0] !== 'gap') out.push(['gap', '…']);
  });
  return out;
}
