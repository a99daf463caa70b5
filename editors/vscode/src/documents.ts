// Document selectors.  The server receives open workspace files, because it indexes unsaved edits, and prompt
// documents.  Only prompt documents get language features.

import * as vscode from "vscode";
import type { DocumentFilter } from "vscode-languageclient/node";

export const PROMPT_LANGUAGE = "promptls";
export const BUILT_PROMPT_LANGUAGE = "promptls-built";
/** Scheme of the cells of an open notebook, which are synchronized as parts of the notebook. */
export const NOTEBOOK_CELL_SCHEME = "vscode-notebook-cell";
const SCHEMES = ["file", "untitled"];

/** Return the additional prompt languages of the setting.  An invalid value counts as empty; the server reports it. */
export function additionalPromptLanguages(): string[] {
  const value = vscode.workspace.getConfiguration("promptls").get<unknown>("documents.languages");
  return Array.isArray(value) && value.every((language) => typeof language === "string") ? value : [];
}

/** Return the selector of documents with language features. */
export function promptSelector(additionalLanguages: readonly string[]): DocumentFilter[] {
  const languages = [PROMPT_LANGUAGE, BUILT_PROMPT_LANGUAGE, ...additionalLanguages];
  const filters = languages.flatMap((language) => SCHEMES.map((scheme) => ({ scheme, language })));
  return [...filters, { scheme: "file", pattern: "**/*.prompt.md" }];
}

/** Return the selector of documents that may be synchronized; `isSynchronized` decides for each document. */
export function syncSelector(additionalLanguages: readonly string[]): DocumentFilter[] {
  return [{ scheme: "file" }, ...promptSelector(additionalLanguages)];
}

export function isPromptDocument(document: vscode.TextDocument): boolean {
  return (
    SCHEMES.includes(document.uri.scheme) &&
    (document.languageId === PROMPT_LANGUAGE ||
      document.uri.path.endsWith(".prompt.md") ||
      additionalPromptLanguages().includes(document.languageId))
  );
}

/** Check whether a document is synchronized with the server. */
export function isSynchronized(document: vscode.TextDocument): boolean {
  if (isPromptDocument(document) || document.languageId === BUILT_PROMPT_LANGUAGE) return true;
  return document.uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(document.uri) !== undefined;
}

/** Check whether a document is a file, or a cell of a notebook, that a question can refer to. */
export function isCodeDocument(document: vscode.TextDocument): boolean {
  const isFile = document.uri.scheme === "file" || document.uri.scheme === NOTEBOOK_CELL_SCHEME;
  return isFile && !isPromptDocument(document) && document.languageId !== BUILT_PROMPT_LANGUAGE;
}
