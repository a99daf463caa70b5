// Opening of a location with highlighted lines.  The lines are not selected, because the selection is part of the
// client context.

import * as vscode from "vscode";
import { VIRTUAL_SCHEME } from "./documents";
import { UserError } from "./errors";
import type { Location } from "./protocol";

/** Decoration of the opened lines; disposed with the extension. */
export const locationHighlight = vscode.window.createTextEditorDecorationType({
  backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
  isWholeLine: true,
});

/** Open a location and highlight its lines until the user moves the cursor. */
export async function openLocation(target: Location, column?: vscode.ViewColumn): Promise<void> {
  const location = target.location ?? target;
  const uri = vscode.Uri.parse(location.uri);
  if (uri.scheme === VIRTUAL_SCHEME) throw new UserError("This item is not from a file and cannot be opened.");
  const options = { ...(column !== undefined && { viewColumn: column }), preview: true };
  const { start, end } = location.range;
  if (uri.path.endsWith(".ipynb")) {
    const line = new vscode.Range(start.line, 0, start.line, 0);
    await vscode.commands.executeCommand("vscode.open", uri, { ...options, selection: line });
    return;
  }
  const editor = await vscode.window.showTextDocument(uri, options);
  const lastLine = editor.document.lineCount - 1;
  const from = Math.min(start.line, lastLine);
  const to = Math.max(from, Math.min(end.line - (end.character > 0 ? 0 : 1), lastLine));
  const range = editor.document.validateRange(new vscode.Range(from, 0, to, Number.MAX_SAFE_INTEGER));
  editor.selection = new vscode.Selection(range.start, range.start);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  editor.setDecorations(locationHighlight, [range]);
  const listener = vscode.window.onDidChangeTextEditorSelection((event) => {
    if (event.textEditor !== editor || event.kind === undefined) return;
    editor.setDecorations(locationHighlight, []);
    listener.dispose();
  });
}
