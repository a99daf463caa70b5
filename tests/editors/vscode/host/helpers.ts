// Helpers of the tests in the extension host.

import * as fs from "node:fs";
import * as vscode from "vscode";
import type { Api } from "../../../../editors/vscode/src/extension";
import { waitFor } from "../lib/report";

export { waitFor };

export async function activateExtension(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>("promptls.promptls");
  if (extension === undefined) throw new Error("The extension is not installed.");
  return extension.activate();
}

export function folder(): vscode.Uri {
  return (vscode.workspace.workspaceFolders as vscode.WorkspaceFolder[])[0]!.uri;
}

export function workspaceUri(name: string): vscode.Uri {
  return vscode.Uri.joinPath(folder(), name);
}

/** Wait until the server is running and the index is complete. */
export async function waitForIndex(): Promise<Api> {
  const api = await activateExtension();
  await waitFor("the index is complete", () => {
    const { state, index } = api.status();
    return state === "running" && index?.state === "ready" && index.roots.every((root) => root.files > 0 && root.pending === 0);
  }, 60_000);
  return api;
}

export async function openFile(name: string): Promise<vscode.TextEditor> {
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(workspaceUri(name)));
}

let promptFiles = 0;

/** Create a prompt document on disk and show it. */
export async function openPromptFile(text: string, name = `q${++promptFiles}.promptls.md`): Promise<vscode.TextDocument> {
  fs.writeFileSync(workspaceUri(name).fsPath, text);
  const document = await vscode.workspace.openTextDocument(workspaceUri(name));
  await vscode.window.showTextDocument(document);
  return document;
}

export async function applyEdit(document: vscode.TextDocument, change: (edit: vscode.WorkspaceEdit) => void): Promise<void> {
  const edits = new vscode.WorkspaceEdit();
  change(edits);
  if (!(await vscode.workspace.applyEdit(edits))) throw new Error(`Cannot edit ${document.uri}.`);
}

export async function closeAllEditors(): Promise<void> {
  for (const document of vscode.workspace.textDocuments.filter((d) => d.isDirty && !d.isClosed)) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  }
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
}

/** Run a callback with a changed setting, then restore the setting. */
export async function withSetting(key: string, value: unknown, target: vscode.ConfigurationTarget, callback: () => Promise<void>): Promise<void> {
  const settings = () => vscode.workspace.getConfiguration("promptls");
  const inspected = settings().inspect(key);
  const before = target === vscode.ConfigurationTarget.Global ? inspected?.globalValue : inspected?.workspaceValue;
  await settings().update(key, value, target);
  try {
    await callback();
  } finally {
    await settings().update(key, before, target);
  }
}
