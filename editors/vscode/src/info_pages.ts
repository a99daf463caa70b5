// Commands that show pages about the workspace: explanation of a symbol, knowledge graph and call paths.

import * as vscode from "vscode";
import { UserError } from "./errors";
import type { Pages } from "./pages";

/** Maximum number of nodes in the knowledge graph of a question. */
const MAX_GRAPH_NODES = 30;
const GRAPH_PROGRESS = "querying the knowledge graph";

/** Explain the symbol at the cursor. */
export async function explainAtCursor(pages: Pages): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new UserError("Put the cursor on a symbol in a file first.");
  const { line, character } = editor.selection.active;
  const params = { uri: editor.document.uri.toString(), position: { line, character } };
  await pages.open("explain", params, "explaining the symbol");
}

export async function showGraph(pages: Pages): Promise<void> {
  const query = await vscode.window.showInputBox({
    title: "Knowledge graph",
    prompt: "A question, or names of symbols",
  });
  if (query?.trim()) await pages.open("graph", { query, limit: MAX_GRAPH_NODES }, GRAPH_PROGRESS);
}

export async function showCallPaths(pages: Pages): Promise<void> {
  const title = "Call paths";
  const from = await vscode.window.showInputBox({ title, prompt: "First function", value: wordAtCursor() });
  if (!from?.trim()) return;
  const to = await vscode.window.showInputBox({ title, prompt: `Last function of the paths from ${from}` });
  if (to?.trim()) await pages.open("graph", { from, to }, GRAPH_PROGRESS);
}

function wordAtCursor(): string {
  const editor = vscode.window.activeTextEditor;
  const range = editor?.document.getWordRangeAtPosition(editor.selection.active);
  return range === undefined ? "" : (editor?.document.getText(range) ?? "");
}
