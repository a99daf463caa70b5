// Requests, settings and unsaved edits reach the server.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { serverPid } from "../lib/processes";
import { applyEdit, closeAllEditors, folder, openFile, waitFor, waitForIndex, withSetting } from "./helpers";

const index = process.env.PROMPTLS_CACHE as string;

describe("server", () => {
  afterEach(closeAllEditors);

  it("runs from the path in the setting and indexes the workspace", async () => {
    const api = await waitForIndex();
    assert.equal(api.status().command, path.resolve((process.env.PROMPTLS_COMMAND as string).split(" ")[0] as string));
    assert.ok(api.status().index!.roots[0]!.symbols >= 8);
  });

  it("builds the prompt for a question with mentions", async () => {
    const api = await waitForIndex();
    const built = await api.buildPrompt({ message: "When do customers pay less? @shop/cart.py @#rounded" });
    assert.deepEqual(built.mentions.map((m) => [m.text, m.status]), [["@shop/cart.py", "included"], ["@#rounded", "included"]]);
    assert.ok(built.prompt!.includes("Regular customers pay five percent less"));
    assert.ok(built.tokens.used <= built.tokens.budget);
  });

  it("uses unsaved edits in prompts and searches", async () => {
    const api = await waitForIndex();
    const editor = await openFile("shop/stock.py");
    await applyEdit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "def reorder_pallets():\n    \"\"\"Order more pallets by courier.\"\"\"\n\n\n"));
    assert.equal(editor.document.isDirty, true);
    const built = await api.buildPrompt({ message: "What is this? @#reorder_pallets" });
    assert.equal(built.mentions[0]!.status, "included");
    assert.ok(built.prompt!.includes("Order more pallets by courier."));
    const { hits } = await api.request<{ hits: { symbol?: string; version: unknown }[] }>("search", { query: "pallets by courier" });
    assert.equal(hits[0]!.symbol, "reorder_pallets");
    assert.equal(hits[0]!.version, editor.document.version);
  });

  it("finds documents outside of the workspace neither by name nor by content", async () => {
    const api = await waitForIndex();
    const outside = vscode.Uri.joinPath(folder(), "../outside.py");
    await vscode.workspace.fs.writeFile(outside, Buffer.from("def far_away():\n    return 'zebra crossing'\n"));
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(outside));
    const built = await api.buildPrompt({ message: "zebra crossing @#far_away" });
    assert.ok(!built.prompt!.includes("return 'zebra"));
  });

  it("rejects a cancelled request and answers the next one", async () => {
    const api = await waitForIndex();
    const source = new vscode.CancellationTokenSource();
    const pending = api.buildPrompt({ message: "How are amounts rounded?" }, source.token);
    source.cancel();
    await assert.rejects(pending, (error: Error) => error.message === "Cancelled.");
    assert.ok((await api.buildPrompt({ message: "How are amounts rounded?" })).prompt!.length > 0);
  });

  it("shows error messages of the server unchanged", async () => {
    const api = await waitForIndex();
    await assert.rejects(api.buildPrompt({ message: " " }), /message: must not be blank\./);
    await assert.rejects(api.buildPrompt({ message: "x", recipe: "nonsense" }), /nonsense/);
  });

  it("receives changed settings of the user without a restart", async () => {
    const api = await waitForIndex();
    const pid = await serverPid(index);
    const budget = async () => (await api.buildPrompt({ message: "What is a cart?" })).tokens.budget;
    await withSetting("budget.tokens", 777, vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the budget of the user settings is used", async () => (await budget()) === 777);
    });
    await waitFor("the default budget is used again", async () => (await budget()) !== 777);
    const folder = path.join(process.env.HOME as string, "other-index");
    await withSetting("cache.folder", folder, vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the index moves", () => fs.existsSync(folder));
      await waitForIndex();
    });
    await waitForIndex();
    assert.equal(await serverPid(index), pid);
  });

  it("restarts for other languages of prompt documents, and ignores a value of the wrong type", async () => {
    const api = await waitForIndex();
    const pid = await serverPid(index);
    await withSetting("documents.languages", 7, vscode.ConfigurationTarget.Global, async () => {
      assert.ok((await api.buildPrompt({ message: "What is a cart?" })).prompt);
      assert.equal(await serverPid(index), pid);
    });
    await withSetting("documents.languages", ["markdown"], vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the server restarts", async () => (await serverPid(index)) !== pid);
      await waitForIndex();
    });
    await waitFor("the server restarts", () => api.status().state === "starting");
    await waitForIndex();
  });

  it("receives workspace settings and their removal", async () => {
    const api = await waitForIndex();
    const pid = await serverPid(index);
    const budget = async () => (await api.buildPrompt({ message: "What is a cart?" })).tokens.budget;
    await withSetting("budget.tokens", 888, vscode.ConfigurationTarget.Workspace, async () => {
      await waitFor("the budget of the workspace settings is used", async () => (await budget()) === 888);
    });
    await waitFor("the default budget is used again", async () => (await budget()) !== 888);
    assert.equal(await serverPid(index), pid);
  });
});
