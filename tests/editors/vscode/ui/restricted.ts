// A workspace that is not trusted: its own programs are not run.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { command } from "../lib/places";
import type { Scene } from "./drive";

export async function restricted({ screen, check }: Scene): Promise<void> {
  const { page, bench } = screen;

  await check("an untrusted workspace's environment is not used", async () => {
    const trust = page.locator(".monaco-dialog-box .monaco-button", { hasText: "No, I don't trust" }).first();
    await trust.click({ timeout: 60_000 });
    await screen.statusSays("not installed");
    const program = path.join(bench.workspace, ".venv/bin/promptls");
    fs.mkdirSync(path.dirname(program), { recursive: true });
    const ran = path.join(bench.home, "ran");
    fs.writeFileSync(program, `#!/bin/sh\ntouch "${ran}"\nexec "${command}" "$@"\n`, { mode: 0o755 });
    await screen.run("promptls: Restart Server");
    await screen.run("promptls: Doctor");
    await screen.sees("not trusted");
    assert.match((await screen.status.getAttribute("aria-label")) as string, /not installed/);
    assert.equal(fs.existsSync(ran), false);
  });

  await check("once it is trusted, it is", async () => {
    await screen.run("Workspaces: Manage Workspace Trust");
    await page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await screen.statusSays("files indexed", 60_000);
    assert.ok(fs.existsSync(path.join(bench.home, "ran")));
  });
}
