// Colours for a file of rules or settings: JSON with comments, with expressions in strings.

const ruleKey = /^"\.(?:read|write|validate|indexOn|count|expires|history|index|limit|maxChildren|queue|sum|trigger|unique)"$/;
const words = new Set(['auth', 'root', 'data', 'newData', 'now', 'query', 'true', 'false', 'null']);

/**
 * The tokens of a line.
 * @param {string} line
 * @param {boolean} inComment whether a comment goes on from the line before
 * @returns {{ tokens: [string, string][], inComment: boolean }} kinds and texts, which together are the line
 */
export function lexLine(line, inComment) {
  const tokens = [];
  let rest = line;
  const take = (kind, length) => {
    tokens.push([kind, rest.slice(0, length)]);
    rest = rest.slice(length);
  };
  while (rest) {
    if (inComment) {
      const end = rest.indexOf('*/');
      take('comment', end < 0 ? rest.length : end + 2);
      inComment = end < 0;
      continue;
    }
    let found;
    if (rest.startsWith('//')) take('comment', rest.length);
    else if (rest.startsWith('/*')) inComment = true;
    else if ((found = /^"(?:[^"\\]|\\.)*"?/.exec(rest))) {
      const isKey = /^\s*:/.test(rest.slice(found[0].length));
      if (isKey) take(ruleKey.test(found[0]) ? 'rule' : 'key', found[0].length);
      else {
        for (const [kind, text] of lexExpression(found[0])) tokens.push([kind, text]);
        rest = rest.slice(found[0].length);
      }
    } else if ((found = /^(?:true|false|null)\b/.exec(rest))) take('name', found[0].length);
    else if ((found = /^-?\d[\d.eE+-]*/.exec(rest))) take('number', found[0].length);
    else if ((found = /^[^"/\dtfn-]+/.exec(rest))) take('', found[0].length);
    else take('', 1);
  }
  return { tokens, inComment };
}

function lexExpression(text) {
  const tokens = [];
  const parts = /'(?:[^'\\]|\\.)*'?|\$?[A-Za-z_]\w*|\d+(?:\.\d+)?|[^'$A-Za-z_\d]+|./g;
  for (const [part] of text.matchAll(parts)) {
    const kind = part.startsWith("'") ? 'text' : part.startsWith('$') || words.has(part) ? 'name' : /^\d/.test(part) ? 'number' : '';
    tokens.push([kind, part]);
  }
  return tokens;
}
