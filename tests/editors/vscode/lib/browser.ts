// Headless Chromium without access to other hosts, and user actions in the workbench.

import { type Browser, type Locator, type Page, chromium } from "playwright-core";
import { waitFor } from "./report";
import type { Workbench } from "./workbench";

const CHROMIUM_FLAGS = [
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
  return chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args: CHROMIUM_FLAGS });
}

/** The page of a workbench. */
export class WorkbenchPage {
  constructor(
    readonly page: Page,
    readonly workbench: Workbench,
  ) {}

  static async open(browser: Browser, workbench: Workbench): Promise<WorkbenchPage> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: workbench.url });
    const page = await context.newPage();
    await page.goto(`${workbench.url}/?folder=${workbench.workspace}`);
    await page.locator(".monaco-workbench .statusbar").waitFor({ timeout: 60_000 });
    return new WorkbenchPage(page, workbench);
  }

  // ---- commands

  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget:not([style*='display: none']) input[type=text]").first();
  }

  get quickRows(): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Run a command from the command palette.  The palette is reopened until it lists the command. */
  async run(title: string): Promise<void> {
    const row = this.quickRows.filter({ hasText: title }).first();
    await waitFor(`the command “${title}” runs`, async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("F1");
      await this.quickInput.fill(`>${title}`, { timeout: 2000 });
      await row.click({ timeout: 2000 });
      return true;
    });
  }

  /** Open a file with the path dialog.  Quick Open needs ripgrep, which is not installed. */
  async openFile(name: string): Promise<void> {
    const [folder, base] = [name.includes("/") ? `/${name.replace(/\/[^/]*$/, "")}` : "", name.split("/").pop() as string];
    await waitFor(`the file ${name} opens`, async () => {
      await this.run("File: Open File...");
      await waitFor("the path dialog shows a path", async () => (await this.quickInput.inputValue()).startsWith("/"), 3000);
      await this.quickInput.fill(`${this.workbench.workspace}${folder}/`);
      await this.quickRows.first().waitFor({ timeout: 3000 });
      await this.quickInput.fill(`${this.workbench.workspace}${folder}/${base}`); // scrolls to the row of the file
      const row = this.quickRows.filter({ hasText: base }).first();
      await row.waitFor({ timeout: 3000 });
      await row.click();
      await this.tab(base).waitFor({ timeout: 3000 });
      return true;
    });
    await this.focusEditor();
  }

  /** Focus the text of the active editor. */
  async focusEditor(): Promise<void> {
    await waitFor("the editor has the focus", async () => {
      await this.editor().locator(".view-lines").click({ timeout: 2000 });
      await this.page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor({ timeout: 1000 });
      return true;
    });
  }

  tab(name: string | RegExp): Locator {
    return this.page.locator(".tab", { hasText: name }).first();
  }

  /** Return the name of the tab of the active editor. */
  activeTab(): Promise<string> {
    return this.page.locator(".editor-group-container.active .tab.active").first().innerText();
  }

  /** A button in the title bar of the active editor. */
  titleButton(label: string): Locator {
    return this.page.locator(".editor-group-container.active .editor-actions .action-label", { hasText: label }).or(this.page.locator(`.editor-group-container.active .editor-actions .action-label[aria-label^="${label}"]`)).first();
  }

  // ---- editors

  /** The active editor. */
  editor(): Locator {
    return this.page.locator(".editor-group-container.active .monaco-editor[role=code]").first();
  }

  /** Return the visible text of the active editor. */
  async editorText(): Promise<string> {
    const lines = await this.editor().locator(".view-line").allInnerTexts();
    return lines.join("\n").replace(/\u00a0/g, " ");
  }

  async expectText(text: string | RegExp, timeoutMs = 60_000): Promise<void> {
    await waitFor(`the editor shows ${text}`, async () => {
      const visible = await this.editorText();
      return typeof text === "string" ? visible.includes(text) : text.test(visible);
    }, timeoutMs);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text, { delay: 25 });
  }

  get suggestions(): Locator {
    return this.page.locator(".suggest-widget.visible .monaco-list-row");
  }

  /** Wait for a completion.  If no list is shown after 5 seconds, request it once with the keyboard. */
  async expectSuggestion(text: string): Promise<void> {
    const row = this.suggestions.filter({ hasText: text }).first();
    const listed = this.suggestions.first().waitFor({ timeout: 5000 });
    await listed.catch(() => this.page.keyboard.press("Control+Space"));
    await row.waitFor();
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast, .notifications-list-container .monaco-list-row", { hasText: text }).first();
  }

  async dismissNotifications(): Promise<void> {
    await this.run("Notifications: Clear All Notifications");
  }

  get statusItem(): Locator {
    return this.page.locator(".statusbar-item[id*='promptls.status'] a").first();
  }

  /** Wait for a text in the accessible label of the status bar item. */
  async expectStatus(text: string, timeoutMs = 60_000): Promise<void> {
    const label = () => this.statusItem.getAttribute("aria-label");
    await waitFor(`the status bar item shows “${text}”`, async () => (await label())?.includes(text), timeoutMs);
  }

  // ---- pages

  /** The editor of a page of the server; there may be one for a prompt and one for another page. */
  pageEditor(): Locator {
    return this.page.locator('.monaco-editor[data-uri^="promptls-page:"]').first();
  }

  /** Wait until a page contains a text, visible or not, and return its whole text. */
  async expectPage(text: string | RegExp): Promise<string> {
    return waitFor(`a page contains ${text}`, async () => {
      await this.pageEditor().locator(".view-lines").click({ timeout: 2000 });
      await this.page.evaluate(() => navigator.clipboard.writeText(""));
      await this.page.keyboard.press("Control+a");
      await this.page.keyboard.press("Control+c");
      const content = await waitFor("the page is copied", () => this.clipboard(), 2000);
      await this.page.keyboard.press("Control+Home");
      return (typeof text === "string" ? content.includes(text) : text.test(content)) ? content : undefined;
    });
  }

  /** A link in a line of the page; the line must be visible. */
  pageLink(line: string | RegExp, text: string): Locator {
    const row = this.pageEditor().locator(".view-line", { hasText: line }).first();
    return row.locator(".detected-link", { hasText: text }).first();
  }

  clipboard(): Promise<string> {
    return this.page.evaluate(() => navigator.clipboard.readText());
  }
}
