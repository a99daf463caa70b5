// Mentions as they are written for places that the editor knows: a file, some of its lines.  Pure.

import type { Range } from "./protocol";

/** The mention of a file below a workspace folder; with a range, of its lines.  `root` is needed among several. */
export function mentionOf(path: string, range?: Range, root = ""): string {
  const prefix = root ? `${quoted(root)}:` : "";
  return `@${prefix}${quoted(path)}${range ? `:${span(range)}` : ""}`;
}

/**
 * Only what cannot be mistaken stays bare; the server's grammar reads anything between quotes.  A bare word may be a
 * kind of mention: "@map:1" is one, and "@tests:cart.py" as well.
 */
function quoted(name: string): string {
  if (/^[A-Za-z0-9_][\w./-]*$/.test(name) && /[./]/.test(name)) return name;
  return `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}

/** Lines are counted from 1 and inclusive; one that is only touched by the end of a selection is not in it. */
function span(range: Range): string {
  const first = range.start.line + 1;
  const behind = range.end.character === 0 && range.end.line > range.start.line;
  const last = Math.max(first, range.end.line + (behind ? 0 : 1));
  return first === last ? `${first}` : `${first}-${last}`;
}
