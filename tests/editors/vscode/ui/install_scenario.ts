// Scenario without a server: the installation is offered, not started, and one button runs it.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { waitFor } from "../lib/report";
import type { ScenarioContext } from "./run_ui_tests";

export async function installScenario({ ui, check }: ScenarioContext): Promise<void> {
  const { page, workbench } = ui;
  const environment = path.join(workbench.home, "user/User/globalStorage/promptls.promptls/server");
  const offer = ui.notification("into a private environment of this extension?");

  await check("a missing server is reported, and the installation is offered but not started", async () => {
    await offer.waitFor({ timeout: 60_000 });
    assert.match((await ui.statusItem.getAttribute("aria-label")) as string, /server was not found on the PATH of the editor/);
    assert.equal(fs.existsSync(environment), false);
    await offer.hover();
    await page.locator(".notification-toast .codicon-notifications-clear, .notification-toast .codicon-close").first().click();
  });

  await check("a command that needs the server repeats the offer, and the installation can be cancelled", async () => {
    await ui.run("promptls: Show Memory");
    await offer.getByRole("button", { name: "Install" }).click();
    const progress = ui.notification("installing");
    await progress.getByRole("button", { name: "Cancel" }).click();
    await progress.waitFor({ state: "detached" });
    await waitFor("the environment is removed", () => !fs.existsSync(environment));
    await page.keyboard.press("Escape");
  });

  await check("the installation creates a private environment, and its server answers", async () => {
    await ui.run("promptls: Install Server");
    await ui.expectStatus("files indexed", 120_000);
    assert.ok(fs.existsSync(path.join(environment, "bin/promptls")));
    await ui.run("promptls: Search");
    await waitFor("the search input opens", async () => (await ui.quickInput.getAttribute("placeholder"))?.includes("plain words"));
    await ui.type("round half up");
    await ui.quickRows.filter({ hasText: "rounded" }).first().waitFor();
    await page.keyboard.press("Escape");
  });
}
