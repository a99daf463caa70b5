// Why a file is not indexed, or that it is.

import * as vscode from "vscode";
import { UserError } from "./errors";
import { verdict as words } from "./format";
import type { IgnoreVerdict } from "./protocol";
import type { Server } from "./server";

export async function explainIgnore(server: Server, argument?: unknown): Promise<void> {
  const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  if (uri === undefined) throw new UserError("Open the file first, or choose it in the explorer.");
  const verdict = await server.request<IgnoreVerdict>("explainIgnore", { uri: uri.toString() });
  const open = "Open the Rule";
  const ways = verdict.file === undefined ? [] : [open];
  const chosen = await vscode.window.showInformationMessage(`promptls: ${words(vscode.workspace.asRelativePath(uri), verdict)}`, ...ways);
  if (chosen !== open || verdict.file === undefined) return;
  const line = Math.max(0, (verdict.line ?? 1) - 1);
  const selection = new vscode.Range(line, 0, line, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(verdict.file), { selection });
}
