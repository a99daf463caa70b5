// What promptls is told to remember: added, listed, changed, removed.

import * as vscode from "vscode";
import { memoryLabel } from "./format";
import type { Memory, MemoryEntry } from "./protocol";
import { guarded } from "./say";
import type { Server } from "./server";

const CATEGORIES: vscode.QuickPickItem[] = [
  { label: "rule", detail: "How things are done here: “Amounts are in cents.”" },
  { label: "knowledge", detail: "What one has to know: “We deploy on Mondays.”" },
  { label: "experience", detail: "What was learned: “The bank's sandbox forgets tokens.”" },
];
const SCOPES = [
  { label: "For me", detail: "In your own settings folder, for all workspaces", scope: "user" },
  { label: "For this workspace", detail: "In .promptls/memory.json, for all who work on it", scope: "workspace" },
];
const LISTED = 1000;

interface Choice extends vscode.QuickPickItem {
  entry?: MemoryEntry;
}

const REMOVE = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Forget this" };

export async function remember(server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor === undefined ? "" : editor.document.getText(editor.selection).trim();
  const content = await vscode.window.showInputBox({ title: "Remember (1/4)", prompt: "What to remember", value: selected });
  if (!content?.trim()) return;
  const title = await vscode.window.showInputBox({
    title: "Remember (2/4)",
    prompt: "A short title",
    value: content.trim().split(/\s+/).slice(0, 6).join(" "),
  });
  if (!title?.trim()) return;
  const category = await vscode.window.showQuickPick(CATEGORIES, { title: "Remember (3/4): what is it?" });
  if (category === undefined) return;
  const scope = await vscode.window.showQuickPick(SCOPES, { title: "Remember (4/4): for whom?" });
  if (scope === undefined) return;
  const params = { action: "add", category: category.label, title, content, scope: scope.scope };
  warn(await server.request<Memory>("memory", params));
  vscode.window.setStatusBarMessage("$(check) Remembered", 5000);
}

export async function showMemory(server: Server): Promise<void> {
  const box = vscode.window.createQuickPick<Choice>();
  box.title = "Memory";
  box.placeholder = "Type to filter; Enter changes an entry";
  box.matchOnDescription = box.matchOnDetail = true;
  const list = async (): Promise<void> => {
    box.busy = true;
    const memory = await server.request<Memory>("memory", { action: "list", limit: LISTED });
    warn(memory);
    box.items = memory.entries.length
      ? memory.entries.map((entry) => ({ ...memoryLabel(entry), entry, buttons: [REMOVE] }))
      : [{ label: "Nothing is remembered yet.", detail: "Enter remembers something.", alwaysShow: true }];
    box.busy = false;
  };
  box.onDidTriggerItemButton(
    guarded(async ({ item }) => {
      if (item.entry === undefined) return;
      warn(await server.request<Memory>("memory", { action: "remove", id: item.entry.id }));
      await list();
    }),
  );
  box.onDidAccept(
    guarded(async () => {
      const choice = box.selectedItems[0];
      if (choice === undefined) return;
      box.hide();
      await (choice.entry === undefined ? remember(server) : change(server, choice.entry));
    }),
  );
  box.onDidHide(() => box.dispose());
  box.show();
  try {
    await list();
  } catch (error) {
    box.hide();
    throw error;
  }
}

async function change(server: Server, entry: MemoryEntry): Promise<void> {
  const content = await vscode.window.showInputBox({ title: entry.title, prompt: "What to remember", value: entry.content });
  if (!content?.trim() || content === entry.content) return;
  warn(await server.request<Memory>("memory", { action: "update", id: entry.id, content }));
  vscode.window.setStatusBarMessage("$(check) Remembered", 5000);
}

function warn(memory: Memory): void {
  for (const warning of memory.warnings) void vscode.window.showWarningMessage(`promptls: ${warning}`);
}
