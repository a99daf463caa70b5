// What the tests in the extension host share.

import * as fs from "node:fs";
import * as vscode from "vscode";
import type { Api } from "../../../../editors/vscode/src/extension";
import { until } from "../lib/report";

export { until };

export async function api(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>("promptls.promptls");
  if (extension === undefined) throw new Error("the extension is not installed");
  return extension.activate();
}

export function folder(): vscode.Uri {
  return (vscode.workspace.workspaceFolders as vscode.WorkspaceFolder[])[0]!.uri;
}

export function uri(name: string): vscode.Uri {
  return vscode.Uri.joinPath(folder(), name);
}

/** The server runs and has indexed everything it knows. */
export async function ready(): Promise<Api> {
  const it = await api();
  await until("a complete index", () => {
    const { life, index } = it.status();
    return life === "running" && index?.state === "ready" && index.roots.every((root) => root.files > 0 && root.pending === 0);
  }, 60_000);
  return it;
}

export async function show(name: string): Promise<vscode.TextEditor> {
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri(name)));
}

/** A prompt document on disk, in front. */
export async function prompt(text: string, name = `q${++made}.prompt.md`): Promise<vscode.TextDocument> {
  fs.writeFileSync(uri(name).fsPath, text);
  const document = await vscode.workspace.openTextDocument(uri(name));
  await vscode.window.showTextDocument(document);
  return document;
}

let made = 0;

export async function edit(document: vscode.TextDocument, change: (edit: vscode.WorkspaceEdit) => void): Promise<void> {
  const edits = new vscode.WorkspaceEdit();
  change(edits);
  if (!(await vscode.workspace.applyEdit(edits))) throw new Error(`${document.uri} could not be edited`);
}

export async function closeAll(): Promise<void> {
  for (const document of vscode.workspace.textDocuments.filter((one) => one.isDirty && !one.isClosed)) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  }
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
}

/** Set a setting, run something, put the setting back. */
export async function withSetting(key: string, value: unknown, target: vscode.ConfigurationTarget, work: () => Promise<void>): Promise<void> {
  const settings = () => vscode.workspace.getConfiguration("promptls");
  const found = settings().inspect(key);
  const before = target === vscode.ConfigurationTarget.Global ? found?.globalValue : found?.workspaceValue;
  await settings().update(key, value, target);
  try {
    await work();
  } finally {
    await settings().update(key, before, target);
  }
}
