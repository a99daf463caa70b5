// Notebooks that the editor shows as cells: their unsaved cells are in the prompt, and cells can be active and selected.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { applyEdit, closeAllEditors, openPromptFile, waitFor, waitForIndex, workspaceUri } from "./helpers";

const cell = (source: string) => ({ cell_type: "code", metadata: {}, outputs: [], execution_count: null, source: [source] });
const NOTEBOOK = {
  cells: [cell("tide = 1\nwave = 2"), cell("def drop_faulty(frame):\n    return frame")],
  metadata: { kernelspec: { language: "python", name: "python3", display_name: "Python" } },
  nbformat: 4,
  nbformat_minor: 5,
};

async function openNotebook(): Promise<vscode.NotebookEditor> {
  fs.writeFileSync(workspaceUri("gauges.ipynb").fsPath, JSON.stringify(NOTEBOOK));
  const notebook = await vscode.workspace.openNotebookDocument(workspaceUri("gauges.ipynb"));
  return vscode.window.showNotebookDocument(notebook);
}

async function closeNotebook(): Promise<void> {
  const notebook = vscode.workspace.notebookDocuments.find((document) => document.uri.path.endsWith("/gauges.ipynb"));
  if (notebook !== undefined) {
    await vscode.window.showNotebookDocument(notebook);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  }
  await closeAllEditors();
}

/** Put the cursor into a cell and select its first characters. */
async function selectInCell(editor: vscode.NotebookEditor, index: number, length: number): Promise<vscode.TextEditor> {
  editor.selection = new vscode.NotebookRange(index, index + 1);
  const document = editor.notebook.cellAt(index).document;
  const text = await waitFor("the cell has the focus", async () => {
    await vscode.commands.executeCommand("notebook.cell.edit");
    const active = vscode.window.activeTextEditor;
    return active?.document === document ? active : undefined;
  });
  text.selection = new vscode.Selection(0, 0, 0, length);
  return text;
}

describe("notebooks", () => {
  afterEach(closeNotebook);

  it("are synchronized: an unsaved edit of a cell is in the prompt", async () => {
    const api = await waitForIndex();
    const editor = await openNotebook();
    const { document } = editor.notebook.cellAt(0);
    await applyEdit(document, (e) => e.replace(document.uri, new vscode.Range(0, 7, 0, 8), "4711"));
    assert.equal(editor.notebook.isDirty, true);
    for (const mention of ["@gauges.ipynb", "@#drop_faulty"]) {
      const built = await api.buildPrompt({ message: `What is it? ${mention}` });
      assert.equal(built.mentions[0]!.status, "included", JSON.stringify(built.mentions));
    }
    const built = await api.buildPrompt({ message: "What is it? @gauges.ipynb" });
    assert.ok(built.prompt!.includes("tide = 4711") && !built.prompt!.includes("cell_type"), built.prompt);
  });

  it("follow added and removed cells", async () => {
    const api = await waitForIndex();
    const { notebook } = await openNotebook();
    const edit = new vscode.WorkspaceEdit();
    const added = new vscode.NotebookCellData(vscode.NotebookCellKind.Code, "surge = 815", "python");
    edit.set(notebook.uri, [vscode.NotebookEdit.replaceCells(new vscode.NotebookRange(0, 1), [added])]);
    assert.ok(await vscode.workspace.applyEdit(edit));
    const built = await api.buildPrompt({ message: "What is it? @gauges.ipynb" });
    assert.ok(built.prompt!.includes("surge = 815") && !built.prompt!.includes("tide"), built.prompt);
  });

  it("can be mentioned by @active and @selection, also in a prompt document beside them", async () => {
    const api = await waitForIndex();
    const editor = await openNotebook();
    const text = await selectInCell(editor, 0, 4);
    const uri = text.document.uri.toString();
    // The editor reports a selection asynchronously.
    const built = await waitFor("the selection is sent", async () => {
      const result = await api.buildPrompt({ message: "What is it? @active @selection" });
      return result.mentions.every((mention) => mention.status === "included") ? result : undefined;
    });
    const [active, selection] = built.mentions.map((mention) => mention.targets[0] as { uri: string; location?: { uri: string; range: { start: { line: number } } } });
    assert.ok(active!.uri.endsWith("/gauges.ipynb"), JSON.stringify(active));
    assert.equal(selection!.location?.uri, uri, JSON.stringify(selection));
    assert.equal(selection!.location?.range.start.line, 0);
    fs.writeFileSync(workspaceUri("beside.promptls.md").fsPath, "What is it? @active\n");
    const beside = await vscode.workspace.openTextDocument(workspaceUri("beside.promptls.md"));
    await vscode.window.showTextDocument(beside, vscode.ViewColumn.Beside);
    const again = await api.buildPrompt({ message: beside.getText(), document: beside.uri.toString() });
    assert.equal(path.basename(again.mentions[0]!.targets[0]!.uri), "gauges.ipynb", JSON.stringify(again.mentions));
  });

  it("can be mentioned by @active, @selection and @open before they are saved", async () => {
    const api = await waitForIndex();
    const data = new vscode.NotebookData([new vscode.NotebookCellData(vscode.NotebookCellKind.Code, "ebb = 1\nflood = 2", "python")]);
    const notebook = await vscode.workspace.openNotebookDocument("jupyter-notebook", data);
    const editor = await vscode.window.showNotebookDocument(notebook);
    await selectInCell(editor, 0, 3);
    await waitFor("the notebook and the selection are sent", async () => {
      const built = await api.buildPrompt({ message: "What is it? @active @selection @open" });
      return built.mentions.every((mention) => mention.status === "included") && built.prompt!.includes("ebb = 1");
    });
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  it("are completed in prompt documents", async () => {
    await waitForIndex();
    await openNotebook();
    const document = await openPromptFile("Why @gaug");
    await waitFor("the notebook is offered", async () => {
      const list = await vscode.commands.executeCommand<vscode.CompletionList>("vscode.executeCompletionItemProvider", document.uri, new vscode.Position(0, 9));
      return list.items.some((item) => JSON.stringify(item.label).includes("gauges.ipynb"));
    });
  });
});
