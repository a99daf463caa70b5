// Formatting of file mentions.  Pure: does not import vscode.

import type { Range } from "./protocol";

/** Return the mention of a file, or of a range of its lines.  `root` is required if the workspace has several roots. */
export function formatMention(path: string, range?: Range, root = ""): string {
  const prefix = root ? `${quoteName(root)}:` : "";
  return `@${prefix}${quoteName(path)}${range ? `:${formatLineRange(range)}` : ""}`;
}

/**
 * Quote a name unless it is unambiguous.
 *
 * An unquoted word without a dot or slash may be a mention kind: "@map:1" and "@tests:cart.py" are mentions of the
 * kinds `map` and `tests`.
 */
function quoteName(name: string): string {
  if (/^[A-Za-z0-9_][\w./-]*$/.test(name) && /[./]/.test(name)) return name;
  return `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}

/** Return 1-based inclusive lines; a last line with no selected character is excluded. */
function formatLineRange(range: Range): string {
  const first = range.start.line + 1;
  const endsAtLineStart = range.end.character === 0 && range.end.line > range.start.line;
  const last = Math.max(first, range.end.line + (endsAtLineStart ? 0 : 1));
  return first === last ? `${first}` : `${first}-${last}`;
}
