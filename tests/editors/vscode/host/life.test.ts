// The server's life: restarted on demand, started again when it is killed, and plain words when it cannot run.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { serverPid, serverPids } from "../lib/processes";
import { api, edit, closeAll, ready, show, until, withSetting } from "./kit";

const index = process.env.PROMPTLS_CACHE as string;

describe("life of the server", () => {
  afterEach(closeAll);

  it("a restart makes a new process, and unsaved edits are known to it", async () => {
    const it = await ready();
    const editor = await show("shop/money.py");
    await edit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "FIRST_LINE = 'ocelot'\n"));
    const before = await serverPid(index);
    await vscode.commands.executeCommand("promptls.restart");
    const after = await serverPid(index);
    assert.notEqual(after, before);
    const built = await it.buildPrompt({ message: "@shop/money.py" });
    assert.ok(built.prompt!.includes("FIRST_LINE = 'ocelot'"));
  });

  it("a server that is killed is started again, and a question asked meanwhile is answered", async () => {
    const it = await ready();
    const before = await serverPid(index);
    process.kill(before, "SIGKILL");
    const built = await it.buildPrompt({ message: "How is money rounded? @#rounded" });
    assert.equal(built.mentions.length, 1);
    assert.notEqual(await serverPid(index), before);
    await ready();
  });

  it("a request whose server is killed under it is asked again", async () => {
    const it = await ready();
    const pid = await serverPid(index);
    process.kill(pid, "SIGSTOP"); // so that the request is surely still open
    const asked = it.buildPrompt({ message: "What is a cart?" });
    process.kill(pid, "SIGKILL");
    assert.ok((await asked).prompt!.includes("cart"));
    await ready();
  });

  it("a wrong path is told in one sentence, and a right one mends it", async () => {
    const it = await ready();
    await withSetting("server.path", "/nothing/promptls", vscode.ConfigurationTarget.Global, async () => {
      await until("the state", () => it.status().life === "missing");
      assert.match(it.status().problem, /promptls\.server\.path names \/nothing\/promptls, which is no program here/);
      await until("the end of the old server", () => serverPids(index).length === 0);
    });
    await ready();
  });

  it("a server that dies and whose program is gone is told as missing, and one that is there again is started", async () => {
    const it = await ready();
    const program = path.join(fs.mkdtempSync(path.join(process.env.HOME as string, "server-")), "promptls");
    fs.writeFileSync(program, `#!/bin/sh\nexec ${it.status().command} "$@"\n`, { mode: 0o755 });
    await withSetting("server.path", program, vscode.ConfigurationTarget.Global, async () => {
      await until("the program", () => it.status().command === program);
      await ready();
      fs.rmSync(program);
      process.kill(await serverPid(index), "SIGKILL");
      await until("the state", () => it.status().life === "missing");
      assert.match(it.status().problem, /names .*\/promptls, which is no program here/);
      await assert.rejects(it.buildPrompt({ message: "What is a cart?" }), /which is no program here/);
    });
    await ready();
  });

  it("a program that is no server is told, not started over and over", async () => {
    const it = await ready();
    await withSetting("server.path", "/bin/false", vscode.ConfigurationTarget.Global, async () => {
      await until("the state", () => it.status().life === "failed");
      assert.equal(it.status().problem, "The server does not start (/bin/false): it ended at once. The log has more.");
    });
    await ready();
    assert.equal((await api()).status().life, "running");
  });
});
