// A machine without a server: nothing is done unasked; one button makes a private environment.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { until } from "../lib/report";
import type { Scene } from "./drive";

export async function installing({ screen, check }: Scene): Promise<void> {
  const { page, bench } = screen;
  const environment = path.join(bench.home, "user/User/globalStorage/promptls.promptls/server");
  const offer = screen.notification("into a private environment of this extension?");

  await check("without a server it says so and offers one install, which it does not begin unasked", async () => {
    await offer.waitFor({ timeout: 60_000 });
    assert.match((await screen.status.getAttribute("aria-label")) as string, /not installed on this machine/);
    assert.equal(fs.existsSync(environment), false);
    await offer.hover();
    await page.locator(".notification-toast .codicon-notifications-clear, .notification-toast .codicon-close").first().click();
  });

  await check("a command that needs the server offers it again, and the install can be stopped", async () => {
    await screen.run("promptls: Show Memory");
    await offer.getByRole("button", { name: "Install" }).click();
    const progress = screen.notification("installing");
    await progress.getByRole("button", { name: "Cancel" }).click();
    await progress.waitFor({ state: "detached" });
    await until("nothing left", () => !fs.existsSync(environment));
    await page.keyboard.press("Escape");
  });

  await check("the install makes a private environment, and the server in it answers", async () => {
    await screen.run("promptls: Install Server");
    await screen.statusSays("files indexed", 120_000);
    assert.ok(fs.existsSync(path.join(environment, "bin/promptls")));
    await screen.run("promptls: Search");
    await until("the search box", async () => (await screen.quickInput.getAttribute("placeholder"))?.includes("plain words"));
    await screen.type("round half up");
    await screen.quickRows.filter({ hasText: "rounded" }).first().waitFor();
    await page.keyboard.press("Escape");
  });
}
