// Runs the tests in the extension host: starts a workbench with the test extension, opens it in a browser, and reads
// the results that the tests write to a file.

import * as fs from "node:fs";
import * as path from "node:path";
import { openBrowser } from "../lib/browser";
import { out, runnerVsix, vsix, work } from "../lib/paths";
import { type Report, waitFor } from "../lib/report";
import { startWorkbench } from "../lib/workbench";

interface ResultLine {
  name?: string;
  error?: string;
  end?: boolean;
}

export async function runHostTests(report: Report, only: string): Promise<void> {
  const results = path.join(work, "host-results.jsonl");
  fs.writeFileSync(results, "");
  const workbench = await startWorkbench({
    name: "host",
    vsix: [vsix, runnerVsix],
    env: {
      PROMPTLS_HOST_TESTS: path.join(out, "host/index.js"),
      PROMPTLS_HOST_RESULTS: results,
      PROMPTLS_HOST_ONLY: only,
      PROMPTLS_MODEL_LOG: path.join(work, "host-model.jsonl"),
    },
  });
  const browser = await openBrowser();
  const readResults = () => fs.readFileSync(results, "utf8").split("\n").filter(Boolean).map((text) => JSON.parse(text) as ResultLine);
  try {
    const context = await browser.newContext();
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: workbench.url }); // the editor uses the clipboard of the browser
    const page = await context.newPage();
    await page.goto(`${workbench.url}/?folder=${workbench.workspace}`);
    // The workbench asks once whether an extension may edit files after a rename.
    const allowEdits = page.locator(".monaco-dialog-box .monaco-button", { hasText: /^OK$/ }).first();
    for (let ended = 0; !readResults().at(-1)?.end; ended = readResults().length) {
      await waitFor(
        "the next test in the extension host ends",
        async () => {
          if (await allowEdits.isVisible()) await allowEdits.click();
          return readResults().length > ended;
        },
        120_000, // a busy machine may need five minutes for all
      );
    }
  } catch (error) {
    report.check("host", "the tests run to completion", error);
  } finally {
    for (const { name, error } of readResults()) if (name) report.check("host", name, error);
    await browser.close();
    await workbench.stop();
  }
}
