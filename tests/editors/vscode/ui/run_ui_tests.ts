// UI tests: scenarios in code-server and Chromium, with keyboard and mouse.

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { WorkbenchPage, openBrowser } from "../lib/browser";
import { command, repository, runnerVsix, vsix, work } from "../lib/paths";
import type { Report } from "../lib/report";
import { type WorkbenchOptions, startWorkbench } from "../lib/workbench";
import { installScenario } from "./install_scenario";
import { mainScenario, writeWaitingServer } from "./main_scenario";
import { untrustedScenario } from "./untrusted_scenario";

export interface ScenarioContext {
  ui: WorkbenchPage;
  /** Run one test.  After a failure, a screenshot is saved and open dialogs are closed. */
  check(name: string, test: () => Promise<unknown>): Promise<void>;
  /** Save a screenshot for the documentation, if `--pictures` is set. */
  picture(name: string): Promise<void>;
}

export async function runUiTests(report: Report, { pictures, only }: { pictures: boolean; only: string }): Promise<void> {
  const browser = await openBrowser();
  const runScenario = async (
    options: WorkbenchOptions,
    scenario: (context: ScenarioContext) => Promise<void>,
  ): Promise<void> => {
    const workbench = await startWorkbench(options);
    try {
      const ui = await WorkbenchPage.open(browser, workbench);
      await scenario({
        ui,
        async check(name, test) {
          if (!new RegExp(only).test(name)) return;
          try {
            await test();
            report.check("ui", name);
          } catch (error) {
            const screenshot = path.join(work, `${name.replace(/\W+/g, "-").slice(0, 60)}.png`);
            await ui.page.screenshot({ path: screenshot }).catch(() => undefined); // the error of the test is reported
            report.check("ui", name, error);
            for (let i = 0; i < 3; i++) await ui.page.keyboard.press("Escape");
          }
        },
        async picture(name) {
          if (!pictures) return;
          const folder = path.join(repository, "editors/vscode/images");
          await ui.page.mouse.move(2, 400); // hides tooltips
          await ui.page.locator(".statusbar-item", { hasText: "Activating Extensions" }).waitFor({ state: "detached" });
          await ui.page.screenshot({ path: path.join(folder, `${name}.png`) });
        },
      });
    } finally {
      for (const context of browser.contexts()) await context.close();
      await workbench.stop();
    }
  };
  try {
    const modelLog = path.join(work, "ui-model.jsonl");
    const home = path.join(work, "ui");
    fs.mkdirSync(home);
    const settings = { "promptls.server.path": writeWaitingServer(home) };
    await runScenario(
      { name: "ui", vsix: [vsix, runnerVsix], settings, env: { PROMPTLS_MODEL_LOG: modelLog } },
      (context) => mainScenario(context, modelLog),
    );
    const wheel = buildWheel();
    const withoutServer = { vsix: [vsix], settings: { "promptls.server.path": "" }, env: environmentWithoutServer() };
    await runScenario({ name: "install", ...withoutServer }, (context) => installScenario(context, wheel));
    await runScenario({ name: "untrusted", ...withoutServer, trust: true }, untrustedScenario);
  } finally {
    await browser.close();
  }
}

/** Build a wheel of the repository and return its path. */
function buildWheel(): string {
  const folder = path.join(work, "wheel");
  execFileSync(path.join(path.dirname(command), "python"), ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", folder, repository], { stdio: "pipe" });
  return path.join(folder, fs.readdirSync(folder)[0] as string);
}

/**
 * Return an environment whose PATH contains no server.
 *
 * pip installs promptls without its dependencies.  They come from the environment of the server under test, so that
 * nothing large is downloaded.
 */
function environmentWithoutServer(): Record<string, string> {
  const folders = (process.env.PATH ?? "").split(":").filter((folder) => !fs.existsSync(path.join(folder, "promptls")));
  const library = path.resolve(path.dirname(command), "../lib");
  const python = fs.readdirSync(library).find((name) => name.startsWith("python3")) as string;
  return { PATH: folders.join(":"), PIP_NO_DEPS: "1", PYTHONPATH: path.join(library, python, "site-packages") };
}
