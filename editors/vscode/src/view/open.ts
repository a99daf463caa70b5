// Going to a region.  It is shown, not selected: a selection would become part of the next question.

import * as vscode from "vscode";
import { UserError } from "../errors";
import type { Place } from "../protocol";

const shown = vscode.window.createTextEditorDecorationType({
  backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
  isWholeLine: true,
});

export async function openPlace(place: Place, column?: vscode.ViewColumn): Promise<void> {
  const uri = vscode.Uri.parse(place.uri);
  if (uri.scheme === "promptls") throw new UserError("This part of the prompt comes from no file, so there is nothing to open.");
  const editor = await vscode.window.showTextDocument(uri, { ...(column !== undefined && { viewColumn: column }), preview: true });
  const last = editor.document.lineCount - 1;
  const from = Math.min(place.range.start.line, last);
  const to = Math.max(from, Math.min(place.range.end.line - (place.range.end.character > 0 ? 0 : 1), last));
  const region = editor.document.validateRange(new vscode.Range(from, 0, to, Number.MAX_SAFE_INTEGER));
  editor.selection = new vscode.Selection(region.start, region.start);
  editor.revealRange(region, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  editor.setDecorations(shown, [region]);
  const listener = vscode.window.onDidChangeTextEditorSelection((event) => {
    if (event.textEditor !== editor || event.kind === undefined) return;
    editor.setDecorations(shown, []);
    listener.dispose();
  });
}

/** Register what this module keeps. */
export const openings: vscode.Disposable = shown;
