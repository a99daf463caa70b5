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
  unsaved?: boolean;
  symbol?: string;
  form?: string;
  tokens?: number;
  citation?: string;
}

export interface OmittedItem extends Location {
  reason: string;
  tokens: number;
}

export interface Mention {
  text: string;
  kind: string;
  status: string;
  targets: Location[];
  candidates?: string[];
  tokens: number;
  reason: string;
  suggestion?: string;
}

export interface TokenUsage {
  budget: number;
  used: number;
  counter: string;
  exact: boolean;
  sections: Record<string, number>;
}

export interface BuildResult {
  prompt?: string;
  messages?: { role: string; content: string }[];
  tokens: TokenUsage;
  items: Item[];
  omitted: OmittedItem[];
  mentions: Mention[];
  droppedCount: number;
  trace: { line: string };
  index: { state: string; complete: number; message: string };
  warnings: string[];
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

/** A node of the knowledge graph: a definition or a file. */
export interface Node extends Location {
  id: string;
  type: string;
  name: string;
  path: string;
  summary: string;
  layer: string;
}

export interface Edge {
  source: string;
  target: string;
  type: string;
  uri?: string;
  line?: number;
  description: string;
}

export interface Graph {
  project: { name: string; description: string; languages: string[]; frameworks: string[] };
  layers: { name: string; about: string; nodes: string[] }[];
  nodes: Node[];
  edges: Edge[];
  /** Call paths, each a list of node IDs. */
  paths?: string[][];
  problem?: string;
  suggestions?: string[];
}

/** A definition and its relations; if `found` is false, the problem and similar names. */
export interface Explanation extends Partial<Record<Relation, Node[]>> {
  found: boolean;
  node?: Node;
  signature?: string;
  doc?: string;
  problem?: string;
  suggestions?: string[];
}

export type Relation =
  | "children"
  | "callers"
  | "callees"
  | "supertypes"
  | "subtypes"
  | "users"
  | "tests"
  | "imports"
  | "importers"
  | "documents"
  | "others";

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

export interface MentionKinds {
  kinds: { name: string; syntax: string[]; help: string }[];
}
