// Starts the workbench with the extension and the runner, opens it once, and tells what the tests in the extension
// host have written down.

import * as fs from "node:fs";
import * as path from "node:path";
import { openBrowser } from "../lib/browser";
import { out, runnerVsix, vsix, work } from "../lib/places";
import { type Report, until } from "../lib/report";
import { startWorkbench } from "../lib/workbench";

interface Line {
  name?: string;
  error?: string;
  end?: boolean;
}

export async function runHost(report: Report, only: string): Promise<void> {
  const results = path.join(work, "host-results.jsonl");
  fs.writeFileSync(results, "");
  const bench = await startWorkbench({
    name: "host",
    vsix: [vsix, runnerVsix],
    env: {
      PROMPTLS_HOST_TESTS: path.join(out, "host/index.js"),
      PROMPTLS_HOST_RESULTS: results,
      PROMPTLS_HOST_ONLY: only,
      PROMPTLS_ASKED: path.join(work, "host-asked.jsonl"),
    },
  });
  const browser = await openBrowser();
  const read = () => fs.readFileSync(results, "utf8").split("\n").filter(Boolean).map((text) => JSON.parse(text) as Line);
  try {
    const context = await browser.newContext();
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: bench.url }); // the clipboard is the browser's
    const page = await context.newPage();
    await page.goto(`${bench.url}/?folder=${bench.workspace}`);
    // The workbench asks once whether an extension may follow a rename.
    const follow = page.locator(".monaco-dialog-box .monaco-button", { hasText: /^OK$/ }).first();
    await until(
      "the end of the tests in the extension host",
      async () => {
        if (await follow.isVisible()) await follow.click();
        return read().some((one) => one.end);
      },
      300_000,
    );
  } catch (error) {
    report.check("host", "the tests run to their end", error);
  } finally {
    for (const { name, error } of read()) if (name) report.check("host", name, error);
    await browser.close();
    await bench.stop();
  }
}
