// Pages of the server: text, links, places, folding ranges and rebuilds.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { closeAllEditors, openPromptFile, waitFor, waitForIndex, workspaceUri } from "./helpers";

const SCHEME = "promptls-page";

function pages(): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter(({ document }) => document.uri.scheme === SCHEME);
}

async function buildPage(question: string): Promise<vscode.TextEditor> {
  await openPromptFile(question);
  await vscode.commands.executeCommand("promptls.openPrompt");
  return waitFor("the page is shown", () => pages()[0]);
}

/** Return the number of the first line with a text, -1 if there is none. */
function lineWith({ document }: vscode.TextEditor, text: string): number {
  return document.getText().split("\n").findIndex((line) => line.includes(text));
}

describe("pages", () => {
  before(waitForIndex);
  afterEach(closeAllEditors);

  it("are Markdown documents with wrapped lines next to the prompt document", async () => {
    const page = await buildPage("How is money rounded? @#rounded");
    assert.equal(page.document.languageId, "markdown");
    assert.match(page.document.getText(), /^# Prompt: [\d,]+ of [\d,]+ tokens/);
    assert.equal(page.viewColumn, vscode.ViewColumn.Two);
    assert.equal(vscode.workspace.getConfiguration("editor", page.document).get("wordWrap"), "on");
  });

  it("have links, places and folding ranges", async () => {
    const page = await buildPage("How is money rounded? @#rounded");
    const { uri } = page.document;
    const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>("vscode.executeLinkProvider", uri);
    const line = lineWith(page, "[pin] [drop]");
    const ofLine = links.filter((link) => link.range.start.line === line && link.target?.scheme === "command");
    assert.deepEqual(ofLine.map((link) => link.tooltip), ["open", "pin", "drop", "more"]);
    const folds = await vscode.commands.executeCommand<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", uri);
    for (const start of [line - 1, lineWith(page, "<context-")]) {
      assert.ok(folds.some((fold) => fold.start === start), `line ${start} folds`);
    }
    await vscode.commands.executeCommand("promptls.openPlace", { uri: uri.toString(), line });
    await waitFor("the place is active", () => vscode.window.activeTextEditor?.document.uri.toString() === workspaceUri("shop/money.py").toString());
    assert.equal(vscode.window.activeTextEditor?.viewColumn, vscode.ViewColumn.One);
    assert.equal(pages().length, 1);
  });

  it("take the place of the page before, also if it is that of another prompt", async () => {
    const first = (await buildPage("How is money rounded?")).document.uri.toString();
    await openPromptFile("Who reserves articles?");
    await vscode.window.showTextDocument(vscode.window.activeTextEditor!.document, vscode.ViewColumn.One);
    await vscode.commands.executeCommand("promptls.openPrompt");
    const uris = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === SCHEME ? [input.uri.toString()] : []));
    await waitFor("one page is left", () => uris().length === 1 && uris()[0] !== first);
    assert.equal(vscode.window.tabGroups.all.length, 2);
  });

  it("are rebuilt with the current text of the prompt document, with the cursor in the same line", async () => {
    const page = await buildPage("How is money rounded? @#rounded");
    const line = lineWith(page, "[pin] [drop]");
    page.selection = new vscode.Selection(line, 3, line, 3);
    const { document } = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.path.endsWith(".promptls.md"))!;
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, document.lineAt(0).range.end, " And who reserves @#reserve ?");
    await vscode.workspace.applyEdit(edit);
    await vscode.window.showTextDocument(page.document, page.viewColumn);
    await vscode.commands.executeCommand("promptls.rebuildPage");
    await waitFor("the page has the new mention", () => page.document.getText().includes("✓ @#reserve"));
    assert.equal(pages()[0]!.selection.active.line, line);
  });

  it("are neither documents nor visible files of a question", async () => {
    await buildPage("How is money rounded? @#rounded");
    const api = await waitForIndex();
    const result = await api.buildPrompt({ message: "What is in @open and in @active ?" });
    assert.ok(!JSON.stringify(result.mentions).includes(SCHEME));
    assert.ok(!result.prompt!.includes("# Prompt: "));
  });

  it("set the budget of an open prompt document from its lens", async () => {
    const document = await openPromptFile("How is money rounded? @#rounded");
    await vscode.commands.executeCommand("promptls.setBudget", { uri: document.uri.toString(), tokens: 2345 });
    await vscode.commands.executeCommand("promptls.openPrompt");
    const page = await waitFor("the page is shown", () => pages()[0]);
    assert.match(page.document.getText(), /^# Prompt: [\d,]+ of 2,345 tokens/);
  });
});
