// Which documents the server receives: open workspace files, because it indexes unsaved edits, prompt documents, and
// every other document that an editor shows, because a question can mention it by kind.  Only prompt documents,
// pages and instruction files get language features.

import * as vscode from "vscode";
import type { DocumentFilter } from "vscode-languageclient/node";

export const PROMPT_LANGUAGE = "promptls";
export const BUILT_PROMPT_LANGUAGE = "promptls-built";
/** Scheme of the items of a prompt that are not documents, such as terminal output. */
export const VIRTUAL_SCHEME = "promptls";
/** Type of the notebooks that are synchronized as notebooks; the cells of others are synchronized as documents. */
const SYNCHRONIZED_NOTEBOOK = "jupyter-notebook";
/** Scheme of output channels, which are never sent. */
const OUTPUT_SCHEME = "output";
/** Scheme of the pages that the server renders, which are never sent. */
export const PAGE_SCHEME = "promptls-page";
/** Schemes of documents that are never sent. */
export const NOT_SENT = [OUTPUT_SCHEME, PAGE_SCHEME];
const SCHEMES = ["file", "untitled"];
/** Patterns of the instruction files of agents, which the server checks; it ignores other documents. */
const INSTRUCTION_FILES = [
  "**/{AGENTS,CLAUDE,CLAUDE.local,GEMINI,CODEBUDDY,SKILL,copilot-instructions}.md",
  "**/*.{instructions.md,mdc,rule.md,chatmode.md,agent.md}",
  "**/{.cursorrules,.windsurfrules,.clinerules,.codebuddyrules}",
  "**/.{claude,windsurf,clinerules,roo,continue,promptls,codebuddy,sourcegraph}/**/*.md",
];

/** Return the additional prompt languages of the setting.  An invalid value counts as empty; the server reports it. */
export function additionalPromptLanguages(): string[] {
  const value = vscode.workspace.getConfiguration("promptls").get<unknown>("documents.languages");
  return Array.isArray(value) && value.every((language) => typeof language === "string") ? value : [];
}

/** Return the selector of documents with language features. */
export function promptSelector(additionalLanguages: readonly string[]): DocumentFilter[] {
  const languages = [PROMPT_LANGUAGE, BUILT_PROMPT_LANGUAGE, ...additionalLanguages];
  const filters = languages.flatMap((language) => SCHEMES.map((scheme) => ({ scheme, language })));
  const patterns = ["**/*.promptls.md", "**/*.prompt.md", ...INSTRUCTION_FILES];
  return [...filters, ...patterns.map((pattern) => ({ scheme: "file", pattern }))];
}

/** Selector of documents that may be synchronized: all of them; `isSynchronized` decides for each document. */
export const SYNC_SELECTOR: DocumentFilter[] = [{ language: "*" }];

export function isPromptDocument(document: vscode.TextDocument): boolean {
  return (
    SCHEMES.includes(document.uri.scheme) &&
    (document.languageId === PROMPT_LANGUAGE ||
      document.uri.path.endsWith(".promptls.md") ||
      isOlderName(document) ||
      additionalPromptLanguages().includes(document.languageId))
  );
}

/** Check for the name that prompt documents share with the prompt files of VS Code, which stay its own. */
function isOlderName({ uri, languageId }: vscode.TextDocument): boolean {
  return uri.path.endsWith(".prompt.md") && languageId !== "prompt" && !uri.path.includes("/.github/prompts/");
}

/** Check whether a document is synchronized with the server. */
export function isSynchronized(document: vscode.TextDocument): boolean {
  const { uri } = document;
  if (NOT_SENT.includes(uri.scheme)) return false;
  if (isPromptDocument(document) || document.languageId === BUILT_PROMPT_LANGUAGE) return true;
  return (uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined) || isShown(document);
}

/** Check whether an editor or a tab shows a document.  Others are open because an extension reads them. */
function isShown(document: vscode.TextDocument): boolean {
  if (vscode.window.visibleTextEditors.some((editor) => editor.document === document)) return true;
  const uri = (notebookOf(document)?.uri ?? document.uri).toString();
  return tabInputs().some((input) => inputUris(input).some((other) => other.toString() === uri));
}

function notebookOf(cell: vscode.TextDocument): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find((notebook) =>
    notebook.getCells().some(({ document }) => document === cell),
  );
}

/** Check whether a question can refer to a document: it is neither a prompt, a page, nor the output of a program. */
export function isCodeDocument(document: vscode.TextDocument): boolean {
  const isPrompt = isPromptDocument(document) || document.languageId === BUILT_PROMPT_LANGUAGE;
  return !NOT_SENT.includes(document.uri.scheme) && !isPrompt;
}

/** Return the URIs of the documents in tabs: of a comparison, the right side; of some notebooks, the cells. */
export function openTabUris(): string[] {
  const uris = tabInputs().flatMap((input) => {
    const uri = inputUris(input)[0];
    const notebook = vscode.workspace.notebookDocuments.find((document) => document.uri.toString() === uri?.toString());
    if (notebook === undefined || notebook.notebookType === SYNCHRONIZED_NOTEBOOK) return uri === undefined ? [] : [uri];
    return notebook.getCells().map((cell) => cell.document.uri);
  });
  return [...new Set(uris.map((uri) => uri.toString()))];
}

function tabInputs(): unknown[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).map((tab) => tab.input);
}

function inputUris(input: unknown): vscode.Uri[] {
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook) return [input.uri];
  const isDiff = input instanceof vscode.TabInputTextDiff || input instanceof vscode.TabInputNotebookDiff;
  return isDiff ? [input.modified, input.original] : [];
}
