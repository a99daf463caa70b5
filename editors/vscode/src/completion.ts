// Completion of mentions that the user types while the server starts, or while it computes a list.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { isPromptDocument } from "./documents";
import type { Server } from "./server";

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

/** Text before a cursor that is in a mention. */
const IN_MENTION = /(^|[\s(])[@＠#]\S*$/u;

/** Request completions once when the server has started, if the user has typed a mention meanwhile. */
export function completeMentionAfterStart(server: Server): vscode.Disposable {
  let typed: vscode.TextDocument | undefined;
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (server.state !== "running" && isPromptDocument(document)) typed = document;
    }),
    server.onDidChange(() => {
      if (server.state !== "running") return;
      const editor = vscode.window.activeTextEditor;
      if (typed !== undefined && editor?.document === typed) {
        const { line, character } = editor.selection.active;
        const isInMention = IN_MENTION.test(typed.lineAt(line).text.slice(0, character));
        if (isInMention) void vscode.commands.executeCommand("editor.action.triggerSuggest");
      }
      typed = undefined;
    }),
  );
}
