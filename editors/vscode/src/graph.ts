// Pages beside the preview: a definition explained, the graph around a question, call paths, what can be mentioned.

import * as vscode from "vscode";
import { UserError } from "./errors";
import { nodeName } from "./format";
import { explanationPage, graphPage, kindsPage } from "./pages";
import type { Explanation, Graph, MentionKinds } from "./protocol";
import { patiently } from "./say";
import type { Server } from "./server";
import { Panel } from "./view/panel";

export class Pages implements vscode.Disposable {
  private readonly panel: Panel;

  constructor(
    extension: vscode.Uri,
    private readonly server: Server,
  ) {
    this.panel = new Panel(extension, "promptls.page");
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** What the cursor stands on. */
  async explain(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) throw new UserError("Put the cursor on a name in a file first.");
    const { line, character } = editor.selection.active;
    await this.explanation({ uri: editor.document.uri.toString(), position: { line, character } });
  }

  private async explanation(of: { uri: string; position: vscode.Position | object } | { symbol: string }): Promise<void> {
    const found = await patiently("explaining", (token) => this.server.request<Explanation>("explain", of, token));
    const title = found.node === undefined ? "Not found" : nodeName(found.node);
    this.panel.show(title, (places) => explanationPage(found, places), {
      name: (symbol) => this.explanation({ symbol }),
    });
  }

  async graph(): Promise<void> {
    const query = await vscode.window.showInputBox({
      title: "Knowledge graph",
      prompt: "What it should be about: a question, or names",
    });
    if (query?.trim()) await this.view({ query, limit: 30 }, query);
  }

  async callPaths(): Promise<void> {
    const title = "Call paths";
    const from = await vscode.window.showInputBox({ title, prompt: "From which definition", value: wordAtCursor() });
    if (!from?.trim()) return;
    const to = await vscode.window.showInputBox({ title, prompt: `From ${from} to which definition` });
    if (to?.trim()) await this.view({ from, to }, `${from} → ${to}`);
  }

  async mentionKinds(): Promise<void> {
    const kinds = await this.server.request<MentionKinds>("mentionKinds", {});
    this.panel.show("Mentions", () => kindsPage(kinds));
  }

  private async view(params: object, title: string): Promise<void> {
    const graph = await patiently("asking the graph", (token) => this.server.request<Graph>("graph", params, token));
    this.panel.show(title, (places) => graphPage(graph, title, places), {
      name: (symbol) => this.explanation({ symbol }),
    });
  }
}

function wordAtCursor(): string {
  const editor = vscode.window.activeTextEditor;
  const range = editor?.document.getWordRangeAtPosition(editor.selection.active);
  return range === undefined ? "" : (editor?.document.getText(range) ?? "");
}
