// Client context: active document, selection, open documents and, on request, diagnostics, terminal, clipboard and
// chat history.

import * as vscode from "vscode";
import { toLspDiagnostics } from "./diagnostics";
import { NOT_SENT, isCodeDocument, openTabUris } from "./documents";
import type { Context, Location, Turn } from "./protocol";
import { TerminalTracker } from "./terminal_tracker";

/** Maximum number of open documents sent with a request. */
const MAX_OPEN_DOCUMENTS = 200;

/** Scheme of the settings of the editor on a desktop. */
const EDITOR_SETTINGS_SCHEME = "vscode-userdata";

/** Tracks the state of the editor that the server receives as client context. */
export class ClientContextProvider implements vscode.Disposable {
  /** Turns of the conversation with the chat participant, oldest first. */
  chatHistory: Turn[] = [];

  private readonly terminals = new TerminalTracker();
  private readonly listeners: vscode.Disposable[] = [this.terminals];
  /** URIs of code documents, most recently used first. */
  private recentUris: string[] = [];
  private selection: Location | undefined;

  /** `userFolder` is the folder of the editor's settings. */
  constructor(private readonly userFolder: vscode.Uri) {
    this.trackEditor(vscode.window.activeTextEditor);
    this.listeners.push(
      vscode.window.onDidChangeActiveTextEditor((editor) => this.trackEditor(editor)),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === vscode.window.activeTextEditor) this.trackEditor(event.textEditor);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        const uri = document.uri.toString();
        this.recentUris = this.recentUris.filter((other) => other !== uri);
        if (this.selection?.uri === uri) this.selection = undefined;
      }),
    );
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  /** Update the recent documents and the selection from the active editor. */
  private trackEditor(editor: vscode.TextEditor | undefined): void {
    if (editor === undefined || !isCodeDocument(editor.document)) return;
    const uri = editor.document.uri.toString();
    if (this.recentUris[0] !== uri) this.recentUris = [uri, ...this.recentUris.filter((other) => other !== uri)];
    this.selection = editor.selection.isEmpty ? undefined : { uri, range: toProtocolRange(editor.selection) };
  }

  /** Return the context sent with every request: URIs and ranges, no text. */
  current(): Context {
    const visible = vscode.window.visibleTextEditors
      .map((editor) => editor.document)
      .filter(isCodeDocument)
      .map((document) => document.uri.toString());
    const sharedVisible = visible.filter((uri) => this.isShared(vscode.Uri.parse(uri)));
    const open = openTabUris();
    const openByUse = [
      ...this.recentUris.filter((uri) => open.includes(uri)),
      ...open.filter((uri) => !this.recentUris.includes(uri)),
    ].filter((uri) => this.isShared(vscode.Uri.parse(uri)));
    const active = this.recentUris.find((uri) => visible.includes(uri) || open.includes(uri)) ?? sharedVisible[0];
    return {
      openDocuments: openByUse.slice(0, MAX_OPEN_DOCUMENTS),
      visibleDocuments: [...new Set(sharedVisible)],
      ...(active !== undefined && { activeDocument: active }),
      // The selection of a hidden editor is unlikely to be meant.
      ...(this.selection !== undefined && visible.includes(this.selection.uri) && { selection: this.selection }),
    };
  }

  /** Return the response to `promptls/clientContext`: the available parts of the requested context kinds. */
  async resolve(kinds: readonly string[]): Promise<Context> {
    const current = this.current();
    const context: Context = {};
    if (this.selection !== undefined && kinds.includes("selection")) context.selection = this.selection;
    for (const kind of ["activeDocument", "openDocuments", "visibleDocuments"] as const) {
      if (kinds.includes(kind) && current[kind] !== undefined) Object.assign(context, { [kind]: current[kind] });
    }
    if (kinds.includes("diagnostics")) context.diagnostics = this.diagnostics();
    if (kinds.includes("history")) context.history = this.chatHistory;
    if (kinds.includes("clipboard")) context.clipboard = await vscode.env.clipboard.readText();
    if (kinds.includes("terminal")) {
      const output = await this.terminals.lastOutput();
      if (output !== undefined) context.terminal = output;
    }
    return context;
  }

  private diagnostics(): NonNullable<Context["diagnostics"]> {
    return vscode.languages
      .getDiagnostics()
      .filter(([uri]) => this.isShared(uri))
      .map(([uri, diagnostics]) => ({ uri: uri.toString(), diagnostics: toLspDiagnostics(diagnostics) }))
      .filter((file) => file.diagnostics.length > 0);
  }

  /** Check whether a document may be sent together with others: it is not output, a page or a setting of the editor. */
  private isShared(uri: vscode.Uri): boolean {
    const isSetting = uri.scheme === EDITOR_SETTINGS_SCHEME || uri.path.startsWith(`${this.userFolder.path}/`);
    return !NOT_SENT.includes(uri.scheme) && !isSetting;
  }
}

/** Convert a VS Code range to a range of the protocol. */
export function toProtocolRange(range: vscode.Range): Location["range"] {
  const { start, end } = range;
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}
