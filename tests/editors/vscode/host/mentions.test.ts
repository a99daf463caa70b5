// Mentions written by the extension, as resolved by the server; and commands of prompt documents.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { formatMention } from "../../../../editors/vscode/src/mention";
import { closeAllEditors, openFile, openPromptFile, waitFor, waitForIndex, workspaceUri } from "./helpers";

const UNUSUAL_NAMES = ["with spaces.py", "q\"uote.py", "Makefile", "open", "@at.py", "ünïcode.py", "a#b.py", "co:lon.py", "dots...py", "-dash.py", "(paren).py"];

describe("mentions of files", () => {
  afterEach(closeAllEditors);

  it("resolve to files with unusual names, and to the right lines", async () => {
    fs.mkdirSync(workspaceUri("unusual names").fsPath, { recursive: true });
    for (const name of UNUSUAL_NAMES) fs.writeFileSync(workspaceUri(path.join("unusual names", name)).fsPath, "one = 1\ntwo = 2\nthree = 3\n");
    const api = await waitForIndex();
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 3 } };
    const mentions = UNUSUAL_NAMES.map((name) => formatMention(`unusual names/${name}`, range));
    await waitFor("all names are resolved", async () => {
      const built = await api.request<{ mentions: { text: string; status: string; targets: { uri: string; range: { start: { line: number }; end: { line: number } } }[] }[] }>("resolveMentions", { message: mentions.join(" and ") });
      assert.deepEqual(built.mentions.map((m) => m.text), mentions);
      const targets = built.mentions.map((m) => m.targets.map((t) => [path.basename(vscode.Uri.parse(t.uri).fsPath), t.range.start.line, t.range.end.line]).flat());
      assert.deepEqual(targets, UNUSUAL_NAMES.map((name) => [name, 1, 3]));
      return true;
    });
  });

  it("resolve to files that are named like a mention kind", async () => {
    const names = ["map", "open", "Makefile"];
    for (const name of names) fs.writeFileSync(workspaceUri(name).fsPath, "one = 1\ntwo = 2\nthree = 3\n");
    const api = await waitForIndex();
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 3 } };
    await waitFor("all names are resolved", async () => {
      const message = names.map((name) => formatMention(name, range)).join(" and ");
      const { mentions } = await api.request<{ mentions: { targets: { uri: string }[] }[] }>("resolveMentions", { message });
      assert.deepEqual(mentions.map((m) => m.targets.map((target) => target.uri)), names.map((name) => [workspaceUri(name).toString()]));
      return true;
    });
  });

  it("a new prompt document mentions the selected lines", async () => {
    await waitForIndex();
    const editor = await openFile("shop/cart.py");
    editor.selection = new vscode.Selection(24, 0, 27, 11);
    await vscode.commands.executeCommand("promptls.newPrompt");
    const created = vscode.window.activeTextEditor!;
    assert.equal(created.document.languageId, "promptls");
    assert.ok(created.document.isUntitled);
    assert.equal(created.document.getText(), "\n\n@shop/cart.py:25-28\n");
    assert.deepEqual([created.selection.active.line, created.selection.active.character], [0, 0]);
  });

  it("a prompt document is built from its text", async () => {
    await waitForIndex();
    const document = await openPromptFile("How is money rounded? @#rounded\n");
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand("promptls.copyPrompt", { uri: document.uri.toString() });
    const copied = await waitFor("the prompt is copied", () => vscode.env.clipboard.readText());
    assert.ok(copied.includes("def rounded(money)") && copied.includes("How is money rounded?"));
  });
});
