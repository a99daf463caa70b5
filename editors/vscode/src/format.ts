// Formatting of protocol values for lists, tooltips and messages.  Pure: does not import vscode.

import type {
  BuildResult,
  CompletionItem,
  IgnoreVerdict,
  Item,
  MemoryEntry,
  Mention,
  Range,
  Recipe,
  Status,
  TokenUsage,
} from "./protocol";

export function formatCount(n: number): string {
  return n.toLocaleString("en-US");
}

export function pluralize(n: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(n)} ${n === 1 ? singular : plural}`;
}

/** Return 1-based inclusive lines; "" for a whole document of unknown length. */
export function formatLines(range: Range): string {
  const first = range.start.line + 1;
  const last = Math.max(first, range.end.line + (range.end.character > 0 ? 1 : 0));
  if (last >= 2 ** 31 - 1) return first === 1 ? "" : `${formatCount(first)}–`;
  return first === last ? `${first}` : `${first}–${last}`;
}

/** Return "path:first–last". */
export function formatLocation(path: string, range: Range): string {
  const lines = formatLines(range);
  return lines ? `${path}:${lines}` : path;
}

/** Return the decoded last segment of a URI. */
export function fileName(uri: string): string {
  const name = uri.replace(/\/+$/, "").split(/[/\\]/).pop() ?? uri;
  try {
    return decodeURIComponent(name) || uri;
  } catch {
    return name;
  }
}

/** Return used and available tokens: "1,234 of 8,000 tokens (estimate)". */
export function formatTokenUsage(tokens: TokenUsage): string {
  const counter = tokens.exact
    ? tokens.counter
    : tokens.counter === "estimate"
      ? "estimate"
      : `${tokens.counter}, estimate`;
  return `${formatCount(tokens.used)} of ${formatCount(tokens.budget)} tokens (${counter})`;
}

/**
 * Return text of the workspace as plain text of a label.
 *
 * Labels show `$(name)` as an icon.  Messages make `[text](command:…)` a link that runs a command.
 */
export function plainText(text: string): string {
  return text.replace(/\$\(/g, "$ (").replace(/\]\(/g, "] (");
}

export function hitLabel(hit: Item): { label: string; description: string; detail: string } {
  return {
    label: `$(${iconOf(hit.kind)}) ${plainText(hit.symbol || fileName(hit.path))}`,
    description: plainText(formatLocation(hit.path, hit.range)),
    detail: plainText(`${hit.kind}, ${hit.why}`),
  };
}

export function completionLabel(item: CompletionItem): { label: string; description: string } {
  const tokens = item.tokens == null ? "" : pluralize(item.tokens, "token");
  return {
    label: `$(${iconOf(item.kind)}) ${plainText(item.label)}`,
    description: plainText([item.detail, tokens].filter(Boolean).join(" · ")),
  };
}

export function memoryLabel(entry: MemoryEntry): { label: string; description: string; detail: string } {
  const attributes = [entry.scope, entry.category, ...entry.tags.map((tag) => `#${tag}`)];
  if (entry.expires) attributes.push(`expires ${entry.expires.slice(0, 10)}`);
  const detail = plainText(entry.content.replace(/\s+/g, " ").trim());
  return { label: plainText(entry.title), description: plainText(attributes.join(" · ")), detail };
}

export function recipeLabel(recipe: Recipe): { label: string; description: string; detail: string } {
  const origin = recipe.origin === "built-in" ? "" : ` (${recipe.origin})`;
  const { title, name, description } = recipe;
  return { label: plainText(title), description: plainText(`${name}${origin}`), detail: plainText(description) };
}

/** Return a sentence about whether a file is indexed, with the reason. */
export function ignoreMessage(name: string, verdict: IgnoreVerdict): string {
  const reason = verdict.reason.replace(/\.$/, "");
  if (verdict.indexed) return `${name} is indexed${reason ? `: ${reason}` : ""}.`;
  return `${name} is not indexed: ${reason || "unknown reason"}.`;
}

const KIND_ICONS: Record<string, string> = {
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
  return Object.hasOwn(KIND_ICONS, kind) ? (KIND_ICONS[kind] as string) : "symbol-misc";
}

/** Return the text of a prompt as it is sent. */
export function promptText(result: BuildResult): string {
  if (typeof result.prompt === "string") return result.prompt;
  return (result.messages ?? []).map((message) => `[${message.role}]\n${message.content}`).join("\n\n");
}

/** Maximum number of mentions named in a notification. */
const MAX_REPORTED_MENTIONS = 5;

/** Return a sentence about the mentions whose content is not in a prompt; "" if there are none. */
export function missingMentions(result: BuildResult): string {
  const missing = result.mentions.filter(({ status }) => status !== "included" && status !== "partial");
  if (missing.length === 0) return "";
  const shown = missing.slice(0, MAX_REPORTED_MENTIONS).map(({ text }) => text);
  const more = missing.length > shown.length ? ` and ${missing.length - shown.length} more` : "";
  return `Not in the prompt: ${shown.join(", ")}${more}.`;
}

/** State of the server process. */
export type ServerState = "missing" | "stopped" | "starting" | "running" | "failed";

/** Return the mentions of a question with their tokens or their problem, in one line. */
export function mentionSummary(mentions: readonly Mention[]): string {
  const summaries = mentions.map(({ text, status, tokens, reason }) => {
    const isIncluded = status === "included" || status === "partial";
    return `${text}: ${isIncluded ? pluralize(tokens, "token") : reason.replace(/\.$/, "")}`;
  });
  return plainText(summaries.join(" · "));
}

/** Return what a user waits for: "starting", "indexing 40 %" or "". */
export function activityLabel(state: ServerState, status: Status | undefined): string {
  if (state === "starting" || (state === "running" && status === undefined)) return "starting";
  // An edit is indexed at once; naming it would make the status bar flicker.
  const isIndexing = state === "running" && status !== undefined && isBusy(status) && status.complete < 1;
  return isIndexing ? `indexing ${Math.floor(100 * status.complete)} %` : "";
}

function isBusy({ state }: Status): boolean {
  return state === "scanning" || state === "indexing";
}

export interface StatusBarContent {
  text: string;
  tooltip: string;
  level: "" | "warning" | "error";
}

/** Return text and tooltip of the status bar item. */
export function statusBarContent(state: ServerState, status: Status | undefined, problem = ""): StatusBarContent {
  if (state === "missing") {
    return content("$(cloud-download) promptls", problem || "The server was not found.", "warning");
  }
  if (state === "failed") return content("$(error) promptls", problem || "The server is not running.", "error");
  if (state === "stopped") return content("$(circle-slash) promptls", "The server is not running.", "");
  const activity = activityLabel(state, status);
  if (status === undefined || state === "starting") {
    return content(`$(sync~spin) promptls ${activity}`, "The server is starting.", "");
  }
  const files = status.roots.reduce((sum, root) => sum + root.files, 0);
  const symbols = status.roots.reduce((sum, root) => sum + root.symbols, 0);
  const errors = status.roots.map((root) => root.lastError).filter(Boolean);
  const lines = [status.message, `${pluralize(files, "file")}, ${pluralize(symbols, "symbol")}.`, ...errors];
  if (status.embedder.problem) lines.push(status.embedder.problem);
  const tooltip = lines.filter(Boolean).join("\n");
  if (isBusy(status)) return content(`$(sync~spin) promptls ${activity}`.trim(), tooltip, "");
  if (status.state === "degraded") return content("$(warning) promptls", tooltip, "warning");
  return content("$(mention) promptls", tooltip, "");
}

function content(text: string, tooltip: string, level: StatusBarContent["level"]): StatusBarContent {
  return { text, tooltip, level };
}

/**
 * Remove the sentences of Markdown before the first code block that are part of one of the messages.
 *
 * Prose that quotes a link or an image stays whole: a cut through the code span around it would render it.
 */
export function withoutMessages(markdown: string, messages: readonly string[]): string {
  const code = markdown.indexOf("```");
  const prose = code < 0 ? markdown : markdown.slice(0, code);
  if (prose.includes("](")) return markdown;
  const isStated = (sentence: string) => {
    const text = sentence.replace(/\\(.)/g, "$1").replace(/`/g, "");
    return text !== "" && messages.some((message) => message.includes(text));
  };
  const paragraphs = prose
    .split("\n\n")
    .map((text) => (isStated(text) ? "" : text.split(/(?<=[.?!]) /).filter((sentence) => !isStated(sentence)).join(" ")));
  const kept = [...paragraphs, markdown.slice(prose.length)].filter((text) => text !== "");
  return kept.join("\n\n");
}
