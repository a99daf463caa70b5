// What the editor knows and the server does not: what is in front, selected, open; and, only when a message asks
// for it, problems, terminal, clipboard and the conversation.

import * as vscode from "vscode";
import { lspDiagnostics } from "./diagnostics";
import { isCode } from "./documents";
import type { Context, Place, Turn } from "./protocol";
import { Terminals } from "./terminal";

const OPEN_SENT = 200;

export class Surroundings implements vscode.Disposable {
  /** The conversation with the chat participant, oldest first. */
  history: Turn[] = [];

  private readonly terminals = new Terminals();
  private readonly listeners: vscode.Disposable[] = [this.terminals];
  /** Code documents by last use, the latest first. */
  private recent: string[] = [];
  private selected: Place | undefined;

  constructor() {
    this.look(vscode.window.activeTextEditor);
    this.listeners.push(
      vscode.window.onDidChangeActiveTextEditor((editor) => this.look(editor)),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === vscode.window.activeTextEditor) this.look(event.textEditor);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        const uri = document.uri.toString();
        this.recent = this.recent.filter((other) => other !== uri);
        if (this.selected?.uri === uri) this.selected = undefined;
      }),
    );
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  private look(editor: vscode.TextEditor | undefined): void {
    if (editor === undefined || !isCode(editor.document)) return;
    const uri = editor.document.uri.toString();
    if (this.recent[0] !== uri) this.recent = [uri, ...this.recent.filter((other) => other !== uri)];
    this.selected = editor.selection.isEmpty ? undefined : { uri, range: rangeOf(editor.selection) };
  }

  /** What is sent with every request: places, no content. */
  now(): Context {
    const visible = vscode.window.visibleTextEditors.map((e) => e.document).filter(isCode).map((d) => d.uri.toString());
    const open = openTabs();
    const byUse = [...this.recent.filter((uri) => open.includes(uri)), ...open.filter((uri) => !this.recent.includes(uri))];
    const active = this.recent.find((uri) => visible.includes(uri) || open.includes(uri)) ?? visible[0];
    return {
      openDocuments: byUse.slice(0, OPEN_SENT),
      visibleDocuments: [...new Set(visible)],
      ...(active !== undefined && { activeDocument: active }),
      // A selection that is out of sight is not meant.
      ...(this.selected !== undefined && visible.includes(this.selected.uri) && { selection: this.selected }),
    };
  }

  /** The answer to `promptls/clientContext`: of what is asked for, what there is. */
  async asked(kinds: readonly string[]): Promise<Context> {
    const now = this.now();
    const out: Context = {};
    if (this.selected !== undefined && kinds.includes("selection")) out.selection = this.selected;
    for (const kind of ["activeDocument", "openDocuments", "visibleDocuments"] as const) {
      if (kinds.includes(kind) && now[kind] !== undefined) Object.assign(out, { [kind]: now[kind] });
    }
    if (kinds.includes("diagnostics")) out.diagnostics = problems();
    if (kinds.includes("history")) out.history = this.history;
    if (kinds.includes("clipboard")) out.clipboard = await vscode.env.clipboard.readText();
    if (kinds.includes("terminal")) {
      const output = await this.terminals.lastOutput();
      if (output !== undefined) out.terminal = output;
    }
    return out;
  }
}

export function rangeOf(range: vscode.Range): Place["range"] {
  const { start, end } = range;
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}

function openTabs(): string[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const uris = tabs.map((tab) => tab.input).filter((input) => input instanceof vscode.TabInputText).map((input) => input.uri);
  return [...new Set(uris.filter((uri) => uri.scheme === "file").map((uri) => uri.toString()))];
}

function problems(): NonNullable<Context["diagnostics"]> {
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file")
    .map(([uri, found]) => ({ uri: uri.toString(), diagnostics: lspDiagnostics(found) }))
    .filter((file) => file.diagnostics.length > 0);
}
