// Scenario without a server: the installation is offered, not started, asks for a wheel and can be cancelled.  A server
// in a folder of tools is found, although PATH lacks the folder.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { command } from "../lib/paths";
import { waitFor } from "../lib/report";
import type { ScenarioContext } from "./run_ui_tests";

export async function installScenario({ ui, check }: ScenarioContext, wheel: string): Promise<void> {
  const { page, workbench } = ui;
  const environment = path.join(workbench.home, "user/User/globalStorage/promptls.promptls/server");
  const offer = ui.notification("The promptls server was not found");
  const selectWheel = async () => {
    await ui.quickRows.filter({ hasText: "Wheel of a release" }).first().click();
    await waitFor("the file dialog opens", async () => (await ui.quickInput.inputValue()).startsWith("/"));
    await waitFor("the wheel is selected", async () => {
      await ui.quickInput.fill(`${path.dirname(wheel)}/`); // again, if the dialog has set its own path since
      await ui.quickRows.filter({ hasText: path.basename(wheel) }).first().click({ timeout: 2000 });
      return true;
    });
  };

  await check("a missing server is reported, and the installation is offered but not started", async () => {
    await offer.waitFor({ timeout: 60_000 });
    assert.match((await ui.statusItem.getAttribute("aria-label")) as string, /server was not found\. Run “promptls: Install Server…”/);
    assert.equal(fs.existsSync(environment), false);
    await offer.hover();
    await page.locator(".notification-toast .codicon-notifications-clear, .notification-toast .codicon-close").first().click();
  });

  await check("a command that needs the server repeats the offer, and the installation can be cancelled", async () => {
    await ui.run("promptls: Show Memory");
    await offer.getByRole("button", { name: "Install…" }).click();
    await selectWheel();
    const progress = ui.notification("installing the server: 1/3 create the environment");
    await progress.getByRole("button", { name: "Cancel" }).click();
    await progress.waitFor({ state: "detached" });
    await waitFor("the environment is removed", () => !fs.existsSync(environment));
    await page.keyboard.press("Escape");
  });

  await check("the installation creates a private environment, and its server answers", async () => {
    await ui.run("promptls: Install Server");
    await selectWheel();
    await ui.notification(`installing the server: 2/3 install ${path.basename(wheel)}`).waitFor();
    await ui.expectStatus("files indexed", 120_000);
    assert.ok(fs.existsSync(path.join(environment, "bin/promptls")));
    await ui.run("promptls: Search");
    await waitFor("the search input opens", async () => (await ui.quickInput.getAttribute("placeholder"))?.includes("plain words"));
    await ui.type("round half up");
    await ui.quickRows.filter({ hasText: "rounded" }).first().waitFor();
    await page.keyboard.press("Escape");
  });

  await check("a server in ~/.local/bin is found without PATH", async () => {
    const folder = path.join(workbench.home, ".local/bin");
    fs.mkdirSync(folder, { recursive: true });
    fs.symlinkSync(command, path.join(folder, "promptls"));
    await ui.run("promptls: Restart Server");
    await ui.expectStatus("files indexed", 60_000);
    await ui.run("promptls: Run Doctor");
    await ui.expectText(`${folder}/promptls (a folder of tools)`);
    await ui.run("promptls: Install Server");
    await selectWheel();
    await ui.notification(`The installed server is not used: ${folder}/promptls`).waitFor({ timeout: 120_000 });
  });
}
