// Command “Why Is This File Not Indexed?”: shows the ignore rule and opens its file.

import * as vscode from "vscode";
import { UserError } from "./errors";
import { ignoreMessage } from "./format";
import { showMessage } from "./notifications";
import type { IgnoreVerdict } from "./protocol";
import type { Server } from "./server";

/** Show why a file is indexed or not; the default is the active document. */
export async function explainIgnore(server: Server, argument?: unknown): Promise<void> {
  const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  if (uri === undefined) throw new UserError("Open a file or select it in the explorer first.");
  const verdict = await server.request<IgnoreVerdict>("explainIgnore", { uri: uri.toString() });
  const openRule = "Open Rule";
  const actions = verdict.file === undefined ? [] : [openRule];
  const message = ignoreMessage(vscode.workspace.asRelativePath(uri), verdict);
  const action = await showMessage("Information", message, ...actions);
  if (action !== openRule || verdict.file === undefined) return;
  const line = Math.max(0, (verdict.line ?? 1) - 1);
  const selection = new vscode.Range(line, 0, line, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(verdict.file), { selection });
}
