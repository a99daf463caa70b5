// Drives the real workbench with real keys and a real mouse, one scene after the other.

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { Screen, openBrowser } from "../lib/browser";
import { command, repository, runnerVsix, vsix, work } from "../lib/places";
import type { Report } from "../lib/report";
import { type Options, startWorkbench } from "../lib/workbench";
import { installing } from "./install";
import { restricted } from "./restricted";
import { working } from "./working";

export interface Scene {
  screen: Screen;
  /** One thing to show; what is left open by one that fails is closed. */
  check(name: string, show: () => Promise<unknown>): Promise<void>;
  /** A picture for the documentation, when they are asked for. */
  picture(name: string): Promise<void>;
}

export async function runUi(report: Report, { pictures, only }: { pictures: boolean; only: string }): Promise<void> {
  const browser = await openBrowser();
  const play = async (options: Options, scene: (scene: Scene) => Promise<void>): Promise<void> => {
    const bench = await startWorkbench(options);
    try {
      const screen = await Screen.open(browser, bench);
      await scene({
        screen,
        async check(name, show) {
          if (!new RegExp(only).test(name)) return;
          try {
            await show();
            report.check("ui", name);
          } catch (error) {
            const shot = path.join(work, `${name.replace(/\W+/g, "-").slice(0, 60)}.png`);
            await screen.page.screenshot({ path: shot }).catch(() => undefined); // the error is what counts
            report.check("ui", name, error);
            for (let i = 0; i < 3; i++) await screen.page.keyboard.press("Escape");
          }
        },
        async picture(name) {
          if (!pictures) return;
          const folder = path.join(repository, "editors/vscode/images");
          await screen.page.mouse.move(2, 400); // no tooltips
          await screen.page.screenshot({ path: path.join(folder, `${name}.png`) });
        },
      });
    } finally {
      for (const context of browser.contexts()) await context.close();
      await bench.stop();
    }
  };
  try {
    const asked = path.join(work, "ui-asked.jsonl");
    await play({ name: "ui", vsix: [vsix, runnerVsix], env: { PROMPTLS_ASKED: asked } }, (scene) => working(scene, asked));
    await play({ name: "install", vsix: [vsix], settings: { "promptls.server.path": "", "promptls.server.package": wheel() }, env: bare() }, installing);
    await play({ name: "restricted", vsix: [vsix], settings: { "promptls.server.path": "" }, env: bare(), trust: true }, restricted);
  } finally {
    await browser.close();
  }
}

/** The repository as a wheel. */
function wheel(): string {
  const folder = path.join(work, "wheel");
  execFileSync(path.join(path.dirname(command), "python"), ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", folder, repository], { stdio: "pipe" });
  return path.join(folder, fs.readdirSync(folder)[0] as string);
}

/** A PATH without a server.  The private environment gets promptls itself by pip; what that needs is lent by the
 * server under test, so that nothing big is downloaded. */
function bare(): Record<string, string> {
  const folders = (process.env.PATH ?? "").split(":").filter((folder) => !fs.existsSync(path.join(folder, "promptls")));
  const library = path.resolve(path.dirname(command), "../lib");
  const python = fs.readdirSync(library).find((name) => name.startsWith("python3")) as string;
  return { PATH: folders.join(":"), PIP_NO_DEPS: "1", PYTHONPATH: path.join(library, python, "site-packages") };
}
