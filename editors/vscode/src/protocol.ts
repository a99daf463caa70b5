// What goes over the wire, as far as this client looks at it.  server/docs/reference/protocol.md describes it; the golden messages
// of tests/protocol prove that what is shown here takes every one of them.

export interface Position {
  line: number;
  character: number;
}

/** Whole lines as a rule: the end is the start of the line behind. */
export interface Range {
  start: Position;
  end: Position;
}

export interface Place {
  uri: string;
  range: Range;
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

/** What the editor knows. */
export interface Context {
  activeDocument?: string;
  selection?: Place;
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

/** A region of a file, found or sent. */
export interface Item extends Place {
  path: string;
  kind: string;
  origin: string;
  score: number;
  reasons: Record<string, number>;
  version: number | "disk";
  symbol?: string;
  form?: string;
  tokens?: number;
  citation?: string;
}

export interface Omitted extends Place {
  reason: string;
  tokens: number;
}

export interface Mention {
  text: string;
  kind: string;
  status: string;
  targets: Place[];
  candidates?: string[];
  tokens: number;
  reason: string;
  suggestion?: string;
}

export interface Tokens {
  budget: number;
  used: number;
  counter: string;
  exact: boolean;
  sections: Record<string, number>;
}

export interface Built {
  prompt?: string;
  messages?: { role: string; content: string }[];
  tokens: Tokens;
  items: Item[];
  omitted: Omitted[];
  mentions: Mention[];
  droppedCount: number;
  trace: { line: string };
  index: { state: string; complete: number; message: string };
  warnings: string[];
}

export interface Completions {
  isIncomplete: boolean;
  replace: { start: number; end: number };
  items: Completion[];
}

export interface Completion {
  label: string;
  insertText: string;
  detail: string;
  documentation: string;
  kind: string;
  tokens: number | null;
}

export interface Hits {
  hits: Item[];
}

export interface Status {
  state: string;
  /** Share of the work that is done, 0 to 1. */
  complete: number;
  generation: number;
  roots: { uri: string; name: string; files: number; symbols: number; pending: number; lastError: string }[];
  embedder: { model: string; problem: string };
  message: string;
}

/** A node of the knowledge graph: a definition or a file. */
export interface Node extends Place {
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
  /** Call paths, each a list of ids. */
  paths?: string[][];
  problem?: string;
  suggestions?: string[];
}

/** What is known of a definition; without `found`, why nothing is and what is near. */
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

export interface Memory {
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

export interface Recipes {
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
