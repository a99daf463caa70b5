// Lifecycle of the server: restart on request, restart after a crash, and error messages if it cannot start.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { serverPid, serverPids } from "../lib/processes";
import { activateExtension, applyEdit, closeAllEditors, openFile, waitFor, waitForIndex, withSetting } from "./helpers";

const index = process.env.PROMPTLS_CACHE as string;

describe("server lifecycle", () => {
  afterEach(closeAllEditors);

  it("a restart starts a new process, which receives unsaved edits", async () => {
    const api = await waitForIndex();
    const editor = await openFile("shop/money.py");
    await applyEdit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "FIRST_LINE = 'ocelot'\n"));
    const before = await serverPid(index);
    await vscode.commands.executeCommand("promptls.restart");
    const after = await serverPid(index);
    assert.notEqual(after, before);
    const built = await api.buildPrompt({ message: "@shop/money.py" });
    assert.ok(built.prompt!.includes("FIRST_LINE = 'ocelot'"));
  });

  it("a setting that changes while the server starts reaches it", async () => {
    const api = await waitForIndex();
    const restarted = vscode.commands.executeCommand("promptls.restart");
    await waitFor("the server starts", () => api.status().state === "starting");
    await withSetting("budget.tokens", 666, vscode.ConfigurationTarget.Global, async () => {
      await restarted;
      await waitFor("the budget is used", async () => (await api.buildPrompt({ message: "What is a cart?" })).tokens.budget === 666, 20_000);
    });
  });

  it("a killed server is restarted, and a request in the meantime is answered", async () => {
    const api = await waitForIndex();
    const before = await serverPid(index);
    process.kill(before, "SIGKILL");
    const built = await api.buildPrompt({ message: "How is money rounded? @#rounded" });
    assert.equal(built.mentions.length, 1);
    assert.notEqual(await serverPid(index), before);
    await waitForIndex();
  });

  it("a request is retried if the server is killed before it responds", async () => {
    const api = await waitForIndex();
    const pid = await serverPid(index);
    process.kill(pid, "SIGSTOP"); // the request cannot be answered before the kill
    const pending = api.buildPrompt({ message: "What is a cart?" });
    process.kill(pid, "SIGKILL");
    assert.ok((await pending).prompt!.includes("cart"));
    await waitForIndex();
  });

  it("a wrong path is reported, and a correct path starts the server", async () => {
    const api = await waitForIndex();
    await withSetting("server.path", "/nothing/promptls", vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the state is reported", () => api.status().state === "missing");
      assert.match(api.status().problem, /promptls\.server\.path: \/nothing\/promptls is not an executable file/);
      await waitFor("the old server exits", () => serverPids(index).length === 0);
    });
    await waitForIndex();
  });

  it("a crashed server without an executable is reported as missing, and started when a path is set", async () => {
    const api = await waitForIndex();
    const executable = path.join(fs.mkdtempSync(path.join(process.env.HOME as string, "server-")), "promptls");
    fs.writeFileSync(executable, `#!/bin/sh\nexec ${api.status().command} "$@"\n`, { mode: 0o755 });
    await withSetting("server.path", executable, vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the executable is used", () => api.status().command === executable);
      await waitForIndex();
      fs.rmSync(executable);
      process.kill(await serverPid(index), "SIGKILL");
      await waitFor("the state is reported", () => api.status().state === "missing");
      assert.match(api.status().problem, /\/promptls is not an executable file/);
      await assert.rejects(api.buildPrompt({ message: "What is a cart?" }), /is not an executable file/);
    });
    await waitForIndex();
  });

  it("a program that is not a server is reported and not restarted", async () => {
    const api = await waitForIndex();
    await withSetting("server.path", "/bin/false", vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the state is reported", () => api.status().state === "failed");
      assert.equal(api.status().problem, "Could not start the server (/bin/false): it exited immediately. See the log.");
    });
    await waitForIndex();
    assert.equal((await activateExtension()).status().state, "running");
  });
});
