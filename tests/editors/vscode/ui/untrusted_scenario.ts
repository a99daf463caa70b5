// Scenario with an untrusted workspace: its executables are not run.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { command } from "../lib/paths";
import type { ScenarioContext } from "./run_ui_tests";

export async function untrustedScenario({ ui, check }: ScenarioContext): Promise<void> {
  const { page, workbench } = ui;

  await check("the environment of an untrusted workspace is not used", async () => {
    const distrust = page.locator(".monaco-dialog-box .monaco-button", { hasText: "No, I don't trust" }).first();
    await distrust.click({ timeout: 60_000 });
    await ui.expectStatus("was not found");
    const executable = path.join(workbench.workspace, ".venv/bin/promptls");
    fs.mkdirSync(path.dirname(executable), { recursive: true });
    const runMarker = path.join(workbench.home, "ran");
    fs.writeFileSync(executable, `#!/bin/sh\ntouch "${runMarker}"\nexec "${command}" "$@"\n`, { mode: 0o755 });
    await ui.run("promptls: Restart Server");
    await ui.run("promptls: Run Doctor");
    await ui.expectText("not trusted");
    assert.match((await ui.statusItem.getAttribute("aria-label")) as string, /was not found/);
    assert.equal(fs.existsSync(runMarker), false);
  });

  await check("the environment of a trusted workspace is used", async () => {
    await ui.run("Workspaces: Manage Workspace Trust");
    await page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await ui.expectStatus("files indexed", 60_000);
    assert.ok(fs.existsSync(path.join(workbench.home, "ran")));
  });
}
