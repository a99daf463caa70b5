// Types of the protocol, limited to the fields that this client uses.  See server/docs/reference/protocol.md.  The
// unit tests render every golden message of tests/protocol with the functions of this extension.

export interface Position {
  line: number;
  character: number;
}

/** A range, usually of whole lines: the end is the start of the line after the last one. */
export interface Range {
  start: Position;
  end: Position;
}

export interface Location {
  uri: string;
  range: Range;
  /** Where an editor shows lines of a notebook: in a cell, or in the JSON of the file. */
  location?: Location;
}

export interface Turn {
  role: "user" | "assistant";
  content: string;
}

export interface Diagnostic {
  range: Range;
  message: string;
  severity?: number;
  code?: string | number;
  source?: string;
}

/** Client context: the state that the editor reports. */
export interface Context {
  activeDocument?: string;
  selection?: Location;
  openDocuments?: string[];
  visibleDocuments?: string[];
  diagnostics?: { uri: string; diagnostics: Diagnostic[] }[];
  terminal?: string;
  clipboard?: string;
  history?: Turn[];
}

export interface BuildParams {
  message: string;
  document?: string;
  context?: Context;
  budget?: { tokens?: number; model?: string };
  recipe?: string;
  arguments?: Record<string, string>;
  output?: "text" | "messages";
}

/** An item of the prompt or a search hit. */
export interface Item extends Location {
  path: string;
  kind: string;
  why: string;
  symbol?: string;
}

export interface Mention {
  text: string;
  kind: string;
  status: string;
  tokens: number;
  targets: Location[];
  reason: string;
  suggestion?: string;
}

export interface TokenUsage {
  budget: number;
  used: number;
  counter: string;
  exact: boolean;
}

export interface BuildResult {
  prompt?: string;
  messages?: { role: string; content: string }[];
  tokens: TokenUsage;
  items: Item[];
  mentions: Mention[];
  index: { state: string; complete: number; message: string };
  warnings: string[];
}

/** Result of `promptls/openPage`. */
export interface OpenedPage<R> {
  uri: string;
  title: string;
  result: R;
}

export interface CompletionList {
  isIncomplete: boolean;
  replace: { start: number; end: number };
  items: CompletionItem[];
}

export interface CompletionItem {
  label: string;
  insertText: string;
  detail: string;
  documentation: string;
  kind: string;
  tokens: number | null;
}

export interface SearchResult {
  hits: Item[];
}

export interface Status {
  state: string;
  /** Progress of the indexer, 0 to 1. */
  complete: number;
  generation: number;
  roots: { uri: string; name: string; files: number; symbols: number; pending: number; lastError: string }[];
  embedder: { model: string; problem: string };
  message: string;
}

export interface MemoryEntry {
  id: string;
  scope: string;
  category: string;
  title: string;
  content: string;
  tags: string[];
  paths: string[];
  updated: string;
  expires: string | null;
}

export interface MemoryResult {
  entries: MemoryEntry[];
  total: number;
  warnings: string[];
}

export interface Recipe {
  name: string;
  title: string;
  description: string;
  origin: string;
  help: string;
  arguments: RecipeArgument[];
}

export interface RecipeArgument {
  name: string;
  description: string;
  required: boolean;
  default: string | null;
  choices: string[];
}

export interface RecipeList {
  recipes: Recipe[];
  warnings: string[];
}

export interface IgnoreVerdict {
  indexed: boolean;
  reason: string;
  rule?: string;
  file?: string;
  line?: number;
}
