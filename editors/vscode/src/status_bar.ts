// Status bar item and menu “Status and Commands”.

import * as vscode from "vscode";
import { statusBarContent } from "./format";
import type { Server } from "./server";

const BACKGROUND_COLORS = {
  "": undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

export class StatusBarItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("promptls.status", vscode.StatusBarAlignment.Right, 100);
  private readonly listener: vscode.Disposable;

  constructor(private readonly server: Server) {
    this.item.name = "promptls";
    this.item.command = "promptls.status";
    this.listener = server.onDidChange(() => this.update());
    this.update();
    this.item.show();
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private update(): void {
    const content = statusBarContent(this.server.state, this.server.status, this.server.problem);
    const color = BACKGROUND_COLORS[content.level];
    this.item.text = content.text;
    this.item.tooltip = content.tooltip;
    this.item.backgroundColor = color === undefined ? undefined : new vscode.ThemeColor(color);
    this.item.accessibilityInformation = { label: `promptls: ${content.tooltip.replace(/\n/g, " ")}` };
  }
}

interface Choice extends vscode.QuickPickItem {
  command?: string;
}

const SERVER_CHOICES: Choice[] = [
  { label: "Server", kind: vscode.QuickPickItemKind.Separator },
  { label: "$(debug-restart) Restart server", command: "promptls.restart" },
  { label: "$(output) Show log", command: "promptls.showLog" },
  { label: "$(pulse) Run doctor", command: "promptls.doctor" },
  { label: "$(gear) Settings", command: "workbench.action.openSettings" },
];
const PROMPT_CHOICES: Choice[] = [
  { label: "$(comment) Ask…", command: "promptls.ask" },
  { label: "$(mention) New prompt document", command: "promptls.newPrompt" },
  { label: "$(checklist) Ask by recipe…", command: "promptls.recipe" },
  { label: "$(search) Search…", command: "promptls.search" },
  { label: "$(type-hierarchy) Show knowledge graph…", command: "promptls.graph" },
  { label: "$(bookmark) Show memory", command: "promptls.memory" },
  { label: "Index", kind: vscode.QuickPickItemKind.Separator },
  { label: "$(info) Show status", command: "promptls.showStatus" },
  { label: "$(question) Why is this file not indexed?", command: "promptls.explainIgnore" },
  { label: "$(refresh) Rescan workspace", command: "promptls.reindex" },
];
const INSTALL_CHOICES: Choice[] = [{ label: "$(cloud-download) Install server…", command: "promptls.install" }];

export async function showStatusMenu(server: Server): Promise<void> {
  const content = statusBarContent(server.state, server.status, server.problem);
  const choice = await vscode.window.showQuickPick(
    [...(server.state === "missing" ? INSTALL_CHOICES : PROMPT_CHOICES), ...SERVER_CHOICES],
    { title: `promptls: ${content.tooltip.split("\n").join(" ")}`, placeHolder: "Select a command" },
  );
  if (choice?.command === undefined) return;
  const isSettings = choice.command === "workbench.action.openSettings";
  await vscode.commands.executeCommand(choice.command, ...(isSettings ? ["@ext:promptls.promptls"] : []));
}
