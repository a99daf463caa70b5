// Values of the wire as words: the same in lists, tooltips and pages.  Pure.

import type { Completion, IgnoreVerdict, Item, MemoryEntry, Node, Range, Recipe, Status, Tokens } from "./protocol";

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Lines as people count them; "" for a whole document whose end is not known. */
export function lines(range: Range): string {
  const first = range.start.line + 1;
  const last = Math.max(first, range.end.line + (range.end.character > 0 ? 1 : 0));
  if (last >= 2 ** 31 - 1) return first === 1 ? "" : `${count(first)}–`;
  return first === last ? `${first}` : `${first}–${last}`;
}

export function where(path: string, range: Range): string {
  const span = lines(range);
  return span ? `${path}:${span}` : path;
}

/** The last part of a URI, readable. */
export function fileName(uri: string): string {
  const tail = uri.replace(/\/+$/, "").split(/[/\\]/).pop() ?? uri;
  try {
    return decodeURIComponent(tail) || uri;
  } catch {
    return tail;
  }
}

/** A path below one of the folders as people say it, else the whole path. */
export function shortPath(uri: string, folders: readonly string[]): string {
  const folder = folders.find((f) => uri.startsWith(f.endsWith("/") ? f : `${f}/`));
  const rest = folder === undefined ? uri.replace(/^file:\/\//, "") : uri.slice(folder.replace(/\/$/, "").length + 1);
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

/** "1,234 of 8,000 tokens (estimate)" */
export function spent(tokens: Tokens): string {
  const how = tokens.exact ? tokens.counter : tokens.counter === "estimate" ? "estimate" : `${tokens.counter}, estimate`;
  return `${count(tokens.used)} of ${count(tokens.budget)} tokens (${how})`;
}

/** Why something is there, the strongest reason first: "semantic 0.31, keyword 0.21". */
export function reasons(item: Pick<Item, "origin" | "reasons">): string {
  const parts = Object.entries(item.reasons ?? {})
    .filter(([, value]) => typeof value === "number" && value !== 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`);
  return parts.length ? parts.join(", ") : item.origin;
}

export function hitLabel(hit: Item): { label: string; description: string; detail: string } {
  return {
    label: `$(${iconOf(hit.kind)}) ${hit.symbol || fileName(hit.path)}`,
    description: where(hit.path, hit.range),
    detail: `${hit.kind}, score ${hit.score.toFixed(2)}: ${reasons(hit)}`,
  };
}

export function completionLabel(item: Completion): { label: string; description: string } {
  const price = item.tokens == null ? "" : plural(item.tokens, "token");
  return {
    label: `$(${iconOf(item.kind)}) ${item.label}`,
    description: [item.detail, price].filter(Boolean).join(" · "),
  };
}

export function memoryLabel(entry: MemoryEntry): { label: string; description: string; detail: string } {
  const words = [entry.scope === "user" ? "yours" : entry.scope, entry.category, ...entry.tags.map((t) => `#${t}`)];
  if (entry.expires) words.push(`until ${entry.expires.slice(0, 10)}`);
  return { label: entry.title, description: words.join(" · "), detail: entry.content.replace(/\s+/g, " ").trim() };
}

export function recipeLabel(recipe: Recipe): { label: string; description: string; detail: string } {
  const from = recipe.origin === "built-in" ? "" : ` (${recipe.origin})`;
  return { label: recipe.title, description: `${recipe.name}${from}`, detail: recipe.description };
}

/** Why a file is not indexed, or that it is. */
export function verdict(name: string, found: IgnoreVerdict): string {
  const reason = found.reason.replace(/\.$/, "");
  if (found.indexed) return `${name} is indexed${reason ? `: ${reason}` : ""}.`;
  return `${name} is not indexed: ${reason || "no reason was given"}.`;
}

/** A node's qualified name, which its id ends with. */
export function nodeName(node: Node): string {
  const head = `${node.type}:${node.path}:`;
  return node.id.startsWith(head) && node.id.length > head.length ? node.id.slice(head.length) : node.name;
}

const ICONS: Record<string, string> = {
  file: "file",
  folder: "folder",
  root: "root-folder",
  workspace: "root-folder",
  range: "list-selection",
  kind: "mention",
  section: "symbol-string",
  class: "symbol-class",
  interface: "symbol-interface",
  struct: "symbol-structure",
  enum: "symbol-enum",
  method: "symbol-method",
  function: "symbol-function",
  constructor: "symbol-constructor",
  field: "symbol-field",
  property: "symbol-property",
  variable: "symbol-variable",
  constant: "symbol-constant",
  module: "symbol-module",
  namespace: "symbol-namespace",
  type: "symbol-type-parameter",
};

export function iconOf(kind: string): string {
  return Object.hasOwn(ICONS, kind) ? (ICONS[kind] as string) : "symbol-misc";
}

/** How the server is, as the status bar says it. */
export type Life = "missing" | "stopped" | "starting" | "running" | "failed";

export interface StatusLine {
  text: string;
  tooltip: string;
  level: "" | "warning" | "error";
}

export function statusLine(life: Life, status: Status | undefined, problem = ""): StatusLine {
  if (life === "missing") return line("$(cloud-download) promptls", problem || "The server is not installed.", "warning");
  if (life === "failed") return line("$(error) promptls", problem || "The server does not run.", "error");
  if (life === "stopped") return line("$(circle-slash) promptls", "The server does not run.", "");
  if (life === "starting" || status === undefined) return line("$(sync~spin) promptls", "The server is starting.", "");
  const files = status.roots.reduce((sum, root) => sum + root.files, 0);
  const symbols = status.roots.reduce((sum, root) => sum + root.symbols, 0);
  const errors = status.roots.map((root) => root.lastError).filter(Boolean);
  const said = [status.message, `${plural(files, "file")}, ${plural(symbols, "symbol")}.`, ...errors];
  if (status.embedder.problem) said.push(status.embedder.problem);
  const tooltip = said.filter(Boolean).join("\n");
  if (status.state === "scanning" || status.state === "indexing") {
    const done = files > 0 ? ` ${Math.floor(100 * status.complete)} %` : "";
    return line(`$(sync~spin) promptls${done}`, tooltip, "");
  }
  if (status.state === "degraded") return line("$(warning) promptls", tooltip, "warning");
  return line("$(mention) promptls", tooltip, "");
}

function line(text: string, tooltip: string, level: StatusLine["level"]): StatusLine {
  return { text, tooltip, level };
}
