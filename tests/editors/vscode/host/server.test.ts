// The server is found and started, and its answers come through.

import * as assert from "node:assert/strict";
import * as path from "node:path";
import * as vscode from "vscode";
import { closeAll, edit, folder, ready, show, until, withSetting } from "./kit";

describe("server", () => {
  afterEach(closeAll);

  it("runs from where the setting says, and indexes the workspace", async () => {
    const it = await ready();
    assert.equal(it.status().command, path.resolve((process.env.PROMPTLS_COMMAND as string).split(" ")[0] as string));
    assert.ok(it.status().index!.roots[0]!.symbols >= 8);
  });

  it("builds the prompt for a question with mentions", async () => {
    const it = await ready();
    const built = await it.buildPrompt({ message: "When do customers pay less? @shop/cart.py @#rounded" });
    assert.deepEqual(built.mentions.map((m) => [m.text, m.status]), [["@shop/cart.py", "included"], ["@#rounded", "included"]]);
    assert.ok(built.prompt!.includes("Regular customers pay five percent less"));
    assert.ok(built.tokens.used <= built.tokens.budget);
  });

  it("sees edits that are not saved, in prompt and search", async () => {
    const it = await ready();
    const editor = await show("shop/stock.py");
    await edit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "def reorder_pallets():\n    \"\"\"Order more pallets by courier.\"\"\"\n\n\n"));
    assert.equal(editor.document.isDirty, true);
    const built = await it.buildPrompt({ message: "What is this? @#reorder_pallets" });
    assert.equal(built.mentions[0]!.status, "included");
    assert.ok(built.prompt!.includes("Order more pallets by courier."));
    const { hits } = await it.request<{ hits: { symbol?: string; version: unknown }[] }>("search", { query: "pallets by courier" });
    assert.equal(hits[0]!.symbol, "reorder_pallets");
    assert.equal(hits[0]!.version, editor.document.version);
  });

  it("keeps documents outside of the workspace to itself", async () => {
    const it = await ready();
    const outside = vscode.Uri.joinPath(folder(), "../outside.py");
    await vscode.workspace.fs.writeFile(outside, Buffer.from("def far_away():\n    return 'zebra crossing'\n"));
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(outside));
    const built = await it.buildPrompt({ message: "zebra crossing @#far_away" });
    assert.ok(!built.prompt!.includes("return 'zebra"));
  });

  it("answers a cancelled request with cancellation, and the next one as ever", async () => {
    const it = await ready();
    const source = new vscode.CancellationTokenSource();
    const asked = it.buildPrompt({ message: "How are amounts rounded?" }, source.token);
    source.cancel();
    await assert.rejects(asked, (error: Error) => error.message === "Cancelled.");
    assert.ok((await it.buildPrompt({ message: "How are amounts rounded?" })).prompt!.length > 0);
  });

  it("tells errors as the server says them", async () => {
    const it = await ready();
    await assert.rejects(it.buildPrompt({ message: " " }), /message: must not be blank\./);
    await assert.rejects(it.buildPrompt({ message: "x", recipe: "nonsense" }), /nonsense/);
  });

  it("gets the user's own settings, the sensitive ones too", async () => {
    await ready();
    await withSetting("budget.tokens", 777, vscode.ConfigurationTarget.Global, async () => {
      await until("the budget of the settings", async () => (await (await ready()).buildPrompt({ message: "What is a cart?" })).tokens.budget === 777);
    });
    await until("the default budget again", async () => (await (await ready()).buildPrompt({ message: "What is a cart?" })).tokens.budget !== 777);
  });

  it("takes no harm from a setting of the wrong type", async () => {
    const it = await ready();
    await withSetting("documents.languages", 7, vscode.ConfigurationTarget.Global, async () => {
      await until("the restart", () => it.status().life === "starting");
      await ready();
      await show("docs/orders.md");
    });
    await ready();
  });

  it("gets what the workspace sets, and forgets it when it is taken back", async () => {
    const it = await ready();
    const asked = async () => (await it.buildPrompt({ message: "What is a cart?" })).tokens.budget;
    await withSetting("budget.tokens", 888, vscode.ConfigurationTarget.Workspace, async () => {
      await until("the budget of the workspace", async () => (await asked()) === 888);
    });
    await until("the default budget again", async () => (await asked()) !== 888);
  });
});
