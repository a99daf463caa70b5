// A headless Chromium that sees nothing but the loopback, and the gestures of a user in the workbench.

import { type Browser, type FrameLocator, type Locator, type Page, chromium } from "playwright-core";
import { until } from "./report";
import type { Workbench } from "./workbench";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
];

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args: FLAGS });
}

/** The workbench as one user sees it. */
export class Screen {
  constructor(
    readonly page: Page,
    readonly bench: Workbench,
  ) {}

  static async open(browser: Browser, bench: Workbench): Promise<Screen> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: bench.url });
    const page = await context.newPage();
    await page.goto(`${bench.url}/?folder=${bench.workspace}`);
    await page.locator(".monaco-workbench .statusbar").waitFor({ timeout: 60_000 });
    return new Screen(page, bench);
  }

  // ---- commands

  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget:not([style*='display: none']) input[type=text]").first();
  }

  get quickRows(): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Run a command from the palette.  One that is registered late is not seen by an open palette, so it is opened again. */
  async run(title: string): Promise<void> {
    const row = this.quickRows.filter({ hasText: title }).first();
    await until(`the command ${title}`, async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("F1");
      await this.quickInput.fill(`>${title}`, { timeout: 2000 });
      await row.click({ timeout: 2000 });
      return true;
    });
  }

  /** By the dialog that asks for a path: the quick way by name needs a search program that is not here. */
  async openFile(name: string): Promise<void> {
    const [folder, base] = [name.includes("/") ? `/${name.replace(/\/[^/]*$/, "")}` : "", name.split("/").pop() as string];
    await until(`the file ${name}`, async () => {
      await this.run("File: Open File...");
      await until("the path to start from", async () => (await this.quickInput.inputValue()).startsWith("/"), 3000);
      await this.quickInput.fill(`${this.bench.workspace}${folder}/`);
      await this.quickRows.first().waitFor({ timeout: 3000 });
      await this.quickInput.fill(`${this.bench.workspace}${folder}/${base}`); // brings its row into sight
      const row = this.quickRows.filter({ hasText: base }).first();
      await row.waitFor({ timeout: 3000 });
      await row.click();
      await this.tab(base).waitFor({ timeout: 3000 });
      return true;
    });
    await this.focusEditor();
  }

  /** Keys go into the text of the active editor. */
  async focusEditor(): Promise<void> {
    await until("the focus in the editor", async () => {
      await this.editor().locator(".view-lines").click({ timeout: 2000 });
      await this.page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor({ timeout: 1000 });
      return true;
    });
  }

  tab(name: string | RegExp): Locator {
    return this.page.locator(".tab", { hasText: name }).first();
  }

  // ---- editors

  /** The editor that has the focus. */
  editor(): Locator {
    return this.page.locator(".editor-group-container.active .monaco-editor[role=code]").first();
  }

  /** Its text as it is seen, spaces made plain. */
  async text(): Promise<string> {
    const lines = await this.editor().locator(".view-line").allInnerTexts();
    return lines.join("\n").replace(/\u00a0/g, " ");
  }

  async sees(text: string | RegExp, ms = 20_000): Promise<void> {
    await until(`${text} in the editor`, async () => {
      const seen = await this.text();
      return typeof text === "string" ? seen.includes(text) : text.test(seen);
    }, ms);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text, { delay: 25 });
  }

  get suggestions(): Locator {
    return this.page.locator(".suggest-widget.visible .monaco-list-row");
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast, .notifications-list-container .monaco-list-row", { hasText: text }).first();
  }

  async dismissNotifications(): Promise<void> {
    await this.run("Notifications: Clear All Notifications");
  }

  get status(): Locator {
    return this.page.locator(".statusbar-item[id*='promptls.status'] a").first();
  }

  /** What the status item says to a screen reader. */
  async statusSays(text: string, ms = 20_000): Promise<void> {
    await until(`“${text}” in the status item`, async () => (await this.status.getAttribute("aria-label"))?.includes(text), ms);
  }

  // ---- webviews

  /** The page in the front-most webview with that heading. */
  async webview(heading: string): Promise<FrameLocator> {
    return until(`a page with the heading ${heading}`, async () => {
      const count = await this.page.locator("iframe.webview.ready").count();
      for (let i = 0; i < count; i++) {
        const frame = this.page.frameLocator("iframe.webview.ready").nth(i).frameLocator("#active-frame");
        if (await frame.locator("h1", { hasText: heading }).first().isVisible().catch(() => false)) return frame;
      }
      return undefined;
    });
  }

  clipboard(): Promise<string> {
    return this.page.evaluate(() => navigator.clipboard.readText());
  }
}
