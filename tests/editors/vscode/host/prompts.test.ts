// Mentions as this client writes them are read by the server as it means them.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { mentionOf } from "../../../../editors/vscode/src/mention";
import { closeAll, prompt, ready, show, until, uri } from "./kit";

const ODD = ["with spaces.py", "q\"uote.py", "Makefile", "open", "@at.py", "ünïcode.py", "a#b.py", "co:lon.py", "dots...py", "-dash.py", "(paren).py"];

describe("mentions of places", () => {
  afterEach(closeAll);

  it("lead to files of any name, and to the lines that were meant", async () => {
    fs.mkdirSync(uri("odd names").fsPath, { recursive: true });
    for (const name of ODD) fs.writeFileSync(uri(path.join("odd names", name)).fsPath, "one = 1\ntwo = 2\nthree = 3\n");
    const it = await ready();
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 3 } };
    const mentions = ODD.map((name) => mentionOf(`odd names/${name}`, range));
    await until("all odd names", async () => {
      const built = await it.request<{ mentions: { text: string; status: string; targets: { uri: string; range: { start: { line: number }; end: { line: number } } }[] }[] }>("resolveMentions", { message: mentions.join(" and ") });
      assert.deepEqual(built.mentions.map((m) => m.text), mentions);
      const led = built.mentions.map((m) => m.targets.map((t) => [path.basename(vscode.Uri.parse(t.uri).fsPath), t.range.start.line, t.range.end.line]).flat());
      assert.deepEqual(led, ODD.map((name) => [name, 1, 3]));
      return true;
    });
  });

  it("lead to files that are named like a kind of mention", async () => {
    const names = ["map", "open", "Makefile"];
    for (const name of names) fs.writeFileSync(uri(name).fsPath, "one = 1\ntwo = 2\nthree = 3\n");
    const it = await ready();
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 3 } };
    await until("all names", async () => {
      const message = names.map((name) => mentionOf(name, range)).join(" and ");
      const { mentions } = await it.request<{ mentions: { targets: { uri: string }[] }[] }>("resolveMentions", { message });
      assert.deepEqual(mentions.map((m) => m.targets.map((target) => target.uri)), names.map((name) => [uri(name).toString()]));
      return true;
    });
  });

  it("a new prompt document about a selection mentions its lines", async () => {
    await ready();
    const editor = await show("shop/cart.py");
    editor.selection = new vscode.Selection(24, 0, 27, 11);
    await vscode.commands.executeCommand("promptls.newPrompt");
    const made = vscode.window.activeTextEditor!;
    assert.equal(made.document.languageId, "promptls");
    assert.ok(made.document.isUntitled);
    assert.equal(made.document.getText(), "\n\n@shop/cart.py:25-28\n");
    assert.deepEqual([made.selection.active.line, made.selection.active.character], [0, 0]);
  });

  it("a prompt document is built with its own text, from the command and from a lens", async () => {
    await ready();
    const document = await prompt("How is money rounded? @#rounded\n");
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand("promptls.copyPrompt", { uri: document.uri.toString() });
    const copied = await until("the prompt in the clipboard", () => vscode.env.clipboard.readText());
    assert.ok(copied.includes("def rounded(money)") && copied.includes("How is money rounded?"));
  });
});
