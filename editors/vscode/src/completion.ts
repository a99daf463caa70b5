// Completion of mentions that the user continues to type while the server computes a list.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";

type ProvideCompletionItems = NonNullable<Middleware["provideCompletionItem"]>;

/**
 * Request completions again at the cursor if the list is empty and the user has typed more.
 *
 * VS Code ends the completion at an empty list, although the list belongs to an earlier position: without a recent
 * document, "@#" has no completions, but "@#name" has.  VS Code updates a list with items itself, because the lists of
 * the server are incomplete.
 */
export const provideCompletionItem: ProvideCompletionItems = async (document, position, context, token, next) => {
  for (let at = position; ; ) {
    const result = await next(document, at, context, token);
    const items = Array.isArray(result) ? result : result?.items;
    if (items?.length || token.isCancellationRequested) return result;
    const editor = vscode.window.activeTextEditor;
    const cursor = editor?.document === document ? editor.selection.active : undefined;
    if (cursor === undefined || cursor.line !== at.line || !cursor.isAfter(at)) return result;
    at = cursor;
  }
};
