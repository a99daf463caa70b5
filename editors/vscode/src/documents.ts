// Which documents the server sees: every file of the workspace, because unsaved edits count, and prompt documents
// wherever they are.  Only the latter get language features.

import * as vscode from "vscode";
import type { DocumentFilter } from "vscode-languageclient/node";

export const LANGUAGE = "promptls";
export const BUILT = "promptls-built";
const SCHEMES = ["file", "untitled"];

/** Languages whose documents are prompts as well, by the user's choice.  The server tells what is wrong with it. */
export function optedLanguages(): string[] {
  const given = vscode.workspace.getConfiguration("promptls").get<unknown>("documents.languages");
  return Array.isArray(given) && given.every((language) => typeof language === "string") ? given : [];
}

/** Documents with language features. */
export function promptSelector(opted: readonly string[]): DocumentFilter[] {
  const languages = [LANGUAGE, BUILT, ...opted].flatMap((language) => SCHEMES.map((scheme) => ({ scheme, language })));
  return [...languages, { scheme: "file", pattern: "**/*.prompt.md" }];
}

/** All documents that may be sent to the server; `isSent` decides for each. */
export function sentSelector(opted: readonly string[]): DocumentFilter[] {
  return [{ scheme: "file" }, ...promptSelector(opted)];
}

export function isPrompt(document: vscode.TextDocument): boolean {
  return (
    SCHEMES.includes(document.uri.scheme) &&
    (document.languageId === LANGUAGE ||
      document.uri.path.endsWith(".prompt.md") ||
      optedLanguages().includes(document.languageId))
  );
}

export function isSent(document: vscode.TextDocument): boolean {
  if (isPrompt(document) || document.languageId === BUILT) return true;
  return document.uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(document.uri) !== undefined;
}

/** A document that questions can be about. */
export function isCode(document: vscode.TextDocument): boolean {
  return document.uri.scheme === "file" && !isPrompt(document) && document.languageId !== BUILT;
}
