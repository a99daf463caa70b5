// The status bar item: how far the index is, and the way to the commands.

import * as vscode from "vscode";
import { statusLine } from "./format";
import type { Server } from "./server";

const COLOURS = { "": undefined, warning: "statusBarItem.warningBackground", error: "statusBarItem.errorBackground" };

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("promptls.status", vscode.StatusBarAlignment.Right, 100);
  private readonly listener: vscode.Disposable;

  constructor(private readonly server: Server) {
    this.item.name = "promptls";
    this.item.command = "promptls.status";
    this.listener = server.onDidChange(() => this.show());
    this.show();
    this.item.show();
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private show(): void {
    const line = statusLine(this.server.life, this.server.status, this.server.problem);
    const colour = COLOURS[line.level];
    this.item.text = line.text;
    this.item.tooltip = line.tooltip;
    this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    this.item.accessibilityInformation = { label: `promptls: ${line.tooltip.replace(/\n/g, " ")}` };
  }
}

interface Choice extends vscode.QuickPickItem {
  command?: string;
}

const ALWAYS: Choice[] = [
  { label: "Server", kind: vscode.QuickPickItemKind.Separator },
  { label: "$(debug-restart) Restart server", command: "promptls.restart" },
  { label: "$(output) Show log", command: "promptls.showLog" },
  { label: "$(pulse) Doctor", command: "promptls.doctor" },
  { label: "$(gear) Settings", command: "workbench.action.openSettings" },
];
const RUNNING: Choice[] = [
  { label: "$(comment) Ask…", command: "promptls.ask" },
  { label: "$(mention) New prompt document", command: "promptls.newPrompt" },
  { label: "$(checklist) Ask by recipe…", command: "promptls.recipe" },
  { label: "$(search) Search…", command: "promptls.search" },
  { label: "$(type-hierarchy) Show knowledge graph…", command: "promptls.graph" },
  { label: "$(bookmark) Show memory", command: "promptls.memory" },
  { label: "Index", kind: vscode.QuickPickItemKind.Separator },
  { label: "$(question) Why is this file not indexed?", command: "promptls.explainIgnore" },
  { label: "$(refresh) Walk the workspace again", command: "promptls.reindex" },
];
const MISSING: Choice[] = [{ label: "$(cloud-download) Install server…", command: "promptls.install" }];

export async function statusMenu(server: Server): Promise<void> {
  const line = statusLine(server.life, server.status, server.problem);
  const chosen = await vscode.window.showQuickPick(
    [...(server.life === "missing" ? MISSING : RUNNING), ...ALWAYS],
    { title: `promptls: ${line.tooltip.split("\n").join(" ")}`, placeHolder: "What to do" },
  );
  if (chosen?.command === undefined) return;
  const settings = chosen.command === "workbench.action.openSettings";
  await vscode.commands.executeCommand(chosen.command, ...(settings ? ["@ext:promptls.promptls"] : []));
}
