// Panel for explanations of symbols, the knowledge graph, call paths and mention kinds.

import * as vscode from "vscode";
import { UserError } from "./errors";
import { nodeName } from "./format";
import { explanationPage, graphPage, mentionKindsPage } from "./info_pages";
import { withDelayedProgress } from "./notifications";
import type { Explanation, Graph, MentionKinds, Position } from "./protocol";
import type { Server } from "./server";
import { WebviewPanel } from "./webview/panel";

/** Maximum number of nodes in the knowledge graph of a question. */
const MAX_GRAPH_NODES = 30;

export class InfoPanel implements vscode.Disposable {
  private readonly panel: WebviewPanel;

  constructor(
    extensionUri: vscode.Uri,
    private readonly server: Server,
  ) {
    this.panel = new WebviewPanel(extensionUri, "promptls.page");
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Explain the symbol at the cursor. */
  async explainAtCursor(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) throw new UserError("Put the cursor on a symbol in a file first.");
    const { line, character } = editor.selection.active;
    await this.showExplanation({ uri: editor.document.uri.toString(), position: { line, character } });
  }

  private async showExplanation(params: { uri: string; position: Position } | { symbol: string }): Promise<void> {
    const explanation = await withDelayedProgress("explaining the symbol", (token) =>
      this.server.request<Explanation>("explain", params, token),
    );
    const title = explanation.node === undefined ? "Not found" : nodeName(explanation.node);
    this.panel.show(title, (links) => explanationPage(explanation, links), {
      onSymbol: (symbol) => this.showExplanation({ symbol }),
    });
  }

  async showGraph(): Promise<void> {
    const query = await vscode.window.showInputBox({
      title: "Knowledge graph",
      prompt: "A question, or names of symbols",
    });
    if (query?.trim()) await this.showGraphPage({ query, limit: MAX_GRAPH_NODES }, query);
  }

  async showCallPaths(): Promise<void> {
    const title = "Call paths";
    const from = await vscode.window.showInputBox({ title, prompt: "First function", value: wordAtCursor() });
    if (!from?.trim()) return;
    const to = await vscode.window.showInputBox({ title, prompt: `Last function of the paths from ${from}` });
    if (to?.trim()) await this.showGraphPage({ from, to }, `${from} → ${to}`);
  }

  async showMentionKinds(): Promise<void> {
    const kinds = await this.server.request<MentionKinds>("mentionKinds", {});
    this.panel.show("Mention kinds", () => mentionKindsPage(kinds));
  }

  private async showGraphPage(params: object, title: string): Promise<void> {
    const graph = await withDelayedProgress("querying the knowledge graph", (token) =>
      this.server.request<Graph>("graph", params, token),
    );
    this.panel.show(title, (links) => graphPage(graph, title, links), {
      onSymbol: (symbol) => this.showExplanation({ symbol }),
    });
  }
}

function wordAtCursor(): string {
  const editor = vscode.window.activeTextEditor;
  const range = editor?.document.getWordRangeAtPosition(editor.selection.active);
  return range === undefined ? "" : (editor?.document.getText(range) ?? "");
}
