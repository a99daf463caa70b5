// Commands “Remember…” and “Show Memory”: add, list, update and remove memory entries.

import * as vscode from "vscode";
import { memoryLabel } from "./format";
import { showMessage, withErrorNotification } from "./notifications";
import type { MemoryEntry, MemoryResult } from "./protocol";
import type { Server } from "./server";

const CATEGORIES: vscode.QuickPickItem[] = [
  { label: "rule", detail: "A convention: “Store amounts in cents.”" },
  { label: "knowledge", detail: "A fact: “We deploy on Mondays.”" },
  { label: "experience", detail: "A lesson learned: “The bank's sandbox loses tokens.”" },
];
const SCOPES = [
  { label: "User", detail: "In your settings folder, for all workspaces", scope: "user" },
  { label: "Workspace", detail: "In .promptls/memory.json, for everyone who works on it", scope: "workspace" },
];
const MAX_LISTED_ENTRIES = 1000;
const STATUS_MESSAGE_MS = 5000;

interface Choice extends vscode.QuickPickItem {
  entry?: MemoryEntry;
}

const REMOVE_BUTTON = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Remove entry" };

/** Add an entry; the default text is the selected text. */
export async function addMemoryEntry(server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const selectedText = editor === undefined ? "" : editor.document.getText(editor.selection).trim();
  const content = await vscode.window.showInputBox({
    title: "Remember (1/4)",
    prompt: "Text to remember",
    value: selectedText,
  });
  if (!content?.trim()) return;
  const title = await vscode.window.showInputBox({
    title: "Remember (2/4)",
    prompt: "Short title",
    value: content.trim().split(/\s+/).slice(0, 6).join(" "),
  });
  if (!title?.trim()) return;
  const category = await vscode.window.showQuickPick(CATEGORIES, { title: "Remember (3/4): category" });
  if (category === undefined) return;
  const scope = await vscode.window.showQuickPick(SCOPES, { title: "Remember (4/4): scope" });
  if (scope === undefined) return;
  const params = { action: "add", category: category.label, title, content, scope: scope.scope };
  showWarnings(await server.request<MemoryResult>("memory", params));
  vscode.window.setStatusBarMessage("$(check) Saved to memory", STATUS_MESSAGE_MS);
}

/** List the entries with actions to add, update and remove entries. */
export async function showMemory(server: Server): Promise<void> {
  const list = vscode.window.createQuickPick<Choice>();
  list.title = "Memory";
  list.placeholder = "Type to filter; Enter edits an entry";
  list.matchOnDescription = list.matchOnDetail = true;
  const refresh = async (): Promise<void> => {
    list.busy = true;
    const memory = await server.request<MemoryResult>("memory", { action: "list", limit: MAX_LISTED_ENTRIES });
    showWarnings(memory);
    list.items = memory.entries.length
      ? memory.entries.map((entry) => ({ ...memoryLabel(entry), entry, buttons: [REMOVE_BUTTON] }))
      : [{ label: "The memory is empty.", detail: "Press Enter to add an entry.", alwaysShow: true }];
    list.busy = false;
  };
  list.onDidTriggerItemButton(
    withErrorNotification(async ({ item }) => {
      if (item.entry === undefined) return;
      showWarnings(await server.request<MemoryResult>("memory", { action: "remove", id: item.entry.id }));
      await refresh();
    }),
  );
  list.onDidAccept(
    withErrorNotification(async () => {
      const choice = list.selectedItems[0];
      if (choice === undefined) return;
      list.hide();
      await (choice.entry === undefined ? addMemoryEntry(server) : updateMemoryEntry(server, choice.entry));
    }),
  );
  list.onDidHide(() => list.dispose());
  list.show();
  try {
    await refresh();
  } catch (error) {
    list.hide();
    throw error;
  }
}

async function updateMemoryEntry(server: Server, entry: MemoryEntry): Promise<void> {
  const content = await vscode.window.showInputBox({
    title: entry.title,
    prompt: "Text to remember",
    value: entry.content,
  });
  if (!content?.trim() || content === entry.content) return;
  showWarnings(await server.request<MemoryResult>("memory", { action: "update", id: entry.id, content }));
  vscode.window.setStatusBarMessage("$(check) Saved to memory", STATUS_MESSAGE_MS);
}

function showWarnings(memory: MemoryResult): void {
  for (const warning of memory.warnings) void showMessage("Warning", warning);
}
