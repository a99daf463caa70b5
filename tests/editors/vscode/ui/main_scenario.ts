// Main scenario: prompt documents, preview, question input, search, chat, and restarts of the server.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { startChatServer } from "../lib/chat_server";
import { command } from "../lib/paths";
import { serverPid, serverPids } from "../lib/processes";
import { waitFor } from "../lib/report";
import type { ScenarioContext } from "./run_ui_tests";

/** Number of files that take the indexer a few seconds. */
const MANY_FILES = 8000;

/** Create an executable that starts the server as soon as the file `start` next to it exists. */
export function writeWaitingServer(folder: string): string {
  const executable = path.join(folder, "waiting-server");
  const script = `#!/bin/sh\nuntil [ -e "${folder}/start" ]; do sleep 0.05; done\nexec "${command}" "$@"\n`;
  fs.writeFileSync(executable, script, { mode: 0o755 });
  return executable;
}

export async function mainScenario({ ui, check, picture }: ScenarioContext, modelLog: string): Promise<void> {
  const { page, workbench } = ui;
  const press = (name: string) => page.keyboard.press(name);
  const closeAllEditors = async () => {
    await ui.run("View: Close All Editors");
    const discard = page.locator(".monaco-dialog-box .monaco-button", { hasText: "Don't Save" }).first();
    await waitFor("all editors are closed", async () => {
      if (await discard.isVisible()) await discard.click();
      return (await page.locator(".tabs-container .tab").count()) === 0;
    });
  };

  fs.writeFileSync(path.join(workbench.workspace, "stock.promptls.md"), "Who reserves articles? @#reserve\n");
  await ui.run("View: Toggle Primary Side Bar Visibility");

  const startServer = () => fs.writeFileSync(path.join(workbench.home, "start"), "");

  await check("a mention typed before the server has started is completed when it has", async () => {
    try {
      await waitFor("the status bar item shows the start", async () => (await ui.statusItem.innerText()).includes("promptls starting"));
      await press("Control+k");
      await press("a");
      await page.locator(".quick-input-title", { hasText: "Ask promptls: starting" }).waitFor();
      await press("Escape");
      await ui.run("promptls: New Prompt Document");
      await ui.tab(/Untitled/).waitFor();
      await ui.focusEditor();
      await ui.type("Where is the @stock");
      await ui.expectText("the @stock");
    } finally {
      startServer();
    }
    await ui.suggestions.filter({ hasText: "@shop/stock.py" }).first().waitFor();
    await press("Escape");
    await closeAllEditors();
  });

  startServer(); // also if the test before was not selected

  await check("the status bar item shows that the workspace is indexed", async () => {
    await ui.expectStatus("files indexed", 60_000);
  });

  await check("a mention typed while the server is slow is completed", async () => {
    await ui.run("promptls: New Prompt Document");
    await ui.tab(/Untitled/).waitFor();
    await ui.focusEditor();
    await ui.type("Who gets a discount?");
    const pid = await serverPid(workbench.index);
    process.kill(pid, "SIGSTOP"); // simulates a slow server
    try {
      await ui.type(" @#apply_d"); // the first answers are those for "@" and "@#"
      await ui.expectText("discount? @#apply_d");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await ui.suggestions.filter({ hasText: "@#apply_discount" }).first().waitFor();
    await press("Enter");
    await ui.expectText("discount? @#apply_discount");
    await closeAllEditors();
  });

  await check("a typed mention is completed", async () => {
    await ui.run("promptls: New Prompt Document");
    await ui.tab(/Untitled/).waitFor(); // earlier keystrokes would go to another editor
    await ui.focusEditor();
    await ui.type("How is money rounded in the total of a cart, and who gets a discount? @shop");
    await ui.suggestions.filter({ hasText: "@shop/money.py" }).first().waitFor();
    await picture("completion");
    await ui.type("/mon");
    await waitFor("one completion is left", async () => (await ui.suggestions.allInnerTexts()).length === 1);
    await press("Enter");
    await ui.expectText("discount? @shop/money.py");
    await waitFor("the list is closed", async () => (await ui.suggestions.count()) === 0);
    await ui.type(" @#apply_d");
    await ui.expectSuggestion("@#apply_discount");
    await press("Enter");
    await ui.expectText("@#apply_discount");
  });

  await check("the hover of a mention shows its content", async () => {
    const mention = ui.editor().locator(".view-line span", { hasText: "@shop/money.py" }).last();
    await waitFor("the hover is shown", async () => {
      await mention.hover({ timeout: 2000 });
      const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: "is included" }).first();
      await hover.waitFor({ timeout: 3000 });
      return (await hover.innerText()).includes("def rounded(money)");
    });
    await page.mouse.move(5, 5);
  });

  await check("an unknown symbol is marked, and its quick fix is applied", async () => {
    await press("Control+End");
    await ui.type(" @#rounde_up ");
    await ui.editor().locator(".squiggly-error, .squiggly-warning, .squiggly-info").first().waitFor();
    for (let i = 0; i < 4; i++) await press("ArrowLeft");
    const fix = page.locator(".action-widget .monaco-list-row", { hasText: "@#rounded" }).first();
    await waitFor("the quick fixes are shown", async () => {
      await press("Control+.");
      await fix.waitFor({ timeout: 3000 });
      return true;
    });
    await press("Enter");
    await ui.expectText(/@#rounded\s/);
  });

  await check("an unsaved edit is in the built prompt", async () => {
    await ui.openFile("shop/money.py");
    await press("Control+Home");
    await ui.type("RATE_OF_THE_DAY = 1.07  # by courier");
    await press("Enter");
    await ui.expectText("RATE_OF_THE_DAY");
    await ui.tab(/How is money/).click();
    await ui.focusEditor();
    await press("Control+End");
    await press("Control+Enter");
    await ui.expectPage("RATE_OF_THE_DAY = 1.07  # by courier");
    assert.ok(!fs.readFileSync(path.join(workbench.workspace, "shop/money.py"), "utf8").includes("RATE_OF_THE_DAY"));
    await picture("preview");
  });

  await check("the page shows items with reasons, tokens by section and outcomes of mentions", async () => {
    await page.setViewportSize({ width: 2000, height: 760 }); // so that the lines of items are not wrapped
    const text = await ui.expectPage(/^# Prompt: [\d,]+ of [\d,]+ tokens/);
    assert.match(text, /█ \w+ [\d,]+ .*░ free [\d,]+/);
    assert.match(text, /✓ @#apply_discount/);
    assert.match(text, /mentioned +shop\/money\.py:\d+-\d+.*\[pin\] \[drop\]/);
    await ui.pageEditor().locator(".view-line", { hasText: "In the prompt" }).first().waitFor();
    assert.equal(await ui.pageEditor().getAttribute("role"), "code");
  });

  await check("a Ctrl+click on a place opens it in the other column, and Enter does the same", async () => {
    for (const open of [
      () => ui.pageLink(/money\.py.*\[drop\]/, "money.py").click({ modifiers: ["Control"], force: true }),
      async () => {
        await ui.pageEditor().locator(".view-line", { hasText: /cart\.py.*\[drop\]/ }).first().click();
        await press("Enter");
      },
    ]) {
      const before = await ui.activeTab();
      await open();
      await waitFor("another file is active", async () => /(money|cart)\.py/.test(await ui.activeTab()) && (await ui.activeTab()) !== before);
      await ui.pageEditor().waitFor(); // it is not covered
    }
  });

  await check("buttons and keys drop, restore and pin items, and the cursor stays", async () => {
    const line = (text: string | RegExp) => ui.pageEditor().locator(".view-line", { hasText: text }).first();
    await ui.expectPage("[drop]");
    await ui.pageLink(/orders\.md.*\[drop\]/, "drop").click({ modifiers: ["Control"], force: true });
    await line("## Dropped").waitFor();
    assert.match(await ui.activeTab(), /^Prompt/, "nothing else is opened");
    await ui.expectPage(/## Dropped: 1\n- docs\/orders\.md\S* .*\[restore\]/);
    await line("[restore]").click();
    await press("x");
    await waitFor("nothing is dropped", async () => !(await ui.expectPage("# Prompt")).includes("## Dropped"));
    await line(/orders\.md.*\[drop\]/).click();
    await press("p");
    await ui.expectPage(/pinned +docs\/orders\.md\S* .*\[unpin\] \[drop\]/);
    const entry = page.locator(".context-view .action-item", { hasText: "Pin or Add Item" }).first();
    await waitFor("the item is not pinned any more", async () => {
      if (!(await entry.isVisible())) await line(/orders\.md.*\[unpin\]/).click({ button: "right", timeout: 2000 });
      await entry.click({ timeout: 2000 }); // a menu that has just opened ignores clicks
      await line(/orders\.md.*\[pin\]/).waitFor({ timeout: 2000 });
      return true;
    });
  });

  await check("a key on a line without an item explains itself", async () => {
    await ui.expectPage("# Prompt");
    await press("p"); // the cursor is in the first line
    await ui.notification("This line has no item.").waitFor();
    await ui.dismissNotifications();
  });

  await check("the budget is asked for with the current one as default", async () => {
    await ui.expectPage("# Prompt");
    await press("b");
    await waitFor("the budget is asked for", async () => (await ui.quickInput.inputValue()) === "8000");
    await ui.quickInput.fill("3000");
    await press("Enter");
    await ui.quickInput.waitFor({ state: "hidden" }); // a click before that would cancel the input
    await ui.expectPage(/^# Prompt: [\d,]+ of 3,000 tokens/);
  });

  await check("the page copies the prompt, rebuilds it and opens it as a document", async () => {
    await ui.expectPage("# Prompt");
    await press("c");
    await waitFor("the prompt is copied", async () => /^(?!# Prompt)[\s\S]*RATE_OF_THE_DAY/.test(await ui.clipboard()));
    await ui.tab("money.py").click();
    await ui.focusEditor();
    await press("Control+Home");
    await ui.type("SECOND_RATE = 2");
    await press("Enter");
    await ui.pageEditor().locator(".view-lines").click();
    await ui.titleButton("Rebuild").click();
    await ui.expectPage("SECOND_RATE = 2");
    await ui.titleButton("Open as Document").click();
    await ui.expectText("Boundary:");
    await page.setViewportSize({ width: 1200, height: 760 });
  });

  await check("a build notifies about mentions that are not in the prompt", async () => {
    await closeAllEditors();
    fs.writeFileSync(path.join(workbench.workspace, "missing.promptls.md"), "Is @shop/crat.py like @#Monney?\n");
    await ui.openFile("missing.promptls.md");
    await press("Control+Enter");
    await ui.notification("Not in the prompt: @shop/crat.py, @#Monney.").waitFor();
    await ui.dismissNotifications();
    await closeAllEditors();
  });

  await check("quoted names and texts never run a command", async () => {
    await page.setViewportSize({ width: 2000, height: 3000 }); // shows the whole page
    const name = "[click](command:workbench.action.toggleZenMode).md";
    fs.writeFileSync(path.join(workbench.workspace, name), "Zebras.\n\n[zebra](command:workbench.action.toggleZenMode)\n");
    await ui.openFile(name);
    await ui.run("promptls: Why Is This File Not Indexed");
    await ui.notification("toggleZenMode).md is indexed").waitFor();
    assert.equal(await ui.notification("toggleZenMode).md is indexed").locator(".notification-list-item-message a").count(), 0);
    await ui.dismissNotifications();
    await ui.run("promptls: Ask…");
    await ui.quickInput.waitFor();
    await ui.quickInput.fill("Where are zebras? @active ");
    await ui.quickRows.filter({ hasText: "@active" }).first().waitFor();
    await press("Enter");
    await ui.expectPage("[zebra](command:");
    const links = (text: string) => ui.pageEditor().locator(".view-line", { hasText: text }).first().locator(".detected-link");
    await waitFor("the page has links", async () => (await links("[drop]").count()) > 0);
    await waitFor("the quoted text has none", async () => (await links("[zebra]").count()) === 0, 10_000);
    await page.setViewportSize({ width: 1200, height: 760 });
    await closeAllEditors();
    fs.rmSync(path.join(workbench.workspace, name));
  });

  await check("the code lenses of a new and of an opened document are inside of the editor", async () => {
    for (const open of [() => ui.run("promptls: New Prompt Document"), () => ui.openFile("stock.promptls.md")]) {
      await open();
      await ui.focusEditor();
      await press("Control+End");
      await ui.type("And what is @#Money ? ");
      const lens = page.locator(".codelens-decoration", { hasText: "Copy prompt" }).first();
      await waitFor("the code lenses are inside of the editor", async () => {
        const [inner, outer] = [await lens.boundingBox(), await ui.editor().boundingBox()];
        const within = inner && outer && inner.y >= outer.y - 1 && inner.x + inner.width <= outer.x + outer.width;
        return within && inner.height >= 10;
      });
    }
    await closeAllEditors();
  });

  await check("the code lens builds the prompt", async () => {
    await closeAllEditors();
    await ui.openFile("stock.promptls.md");
    await page.locator(".codelens-decoration a", { hasText: "Build prompt" }).first().click();
    await ui.expectPage("def reserve(article, count)");
    await closeAllEditors();
  });

  await check("the budget of a prompt document is asked for, and the page is closed by a key", async () => {
    await closeAllEditors();
    await ui.openFile("stock.promptls.md");
    await ui.run("promptls: Set Token Budget");
    await waitFor("the budget is asked for", async () => (await page.locator(".quick-input-title").innerText()) === "Token budget");
    await ui.quickInput.fill("2,000");
    await press("Enter");
    await page.locator(".quick-input-message", { hasText: "Enter a positive number." }).waitFor();
    await ui.quickInput.fill("2000");
    await press("Enter");
    await page.locator(".codelens-decoration", { hasText: "of 2,000 tokens" }).first().waitFor();
    await page.locator(".codelens-decoration a", { hasText: "Build prompt" }).first().click();
    await ui.expectPage(/^# Prompt: [\d,]+ of 2,000 tokens/);
    await press("q");
    await ui.pageEditor().waitFor({ state: "detached" });
    await closeAllEditors();
  });

  await check("while the index is incomplete, a page says so until it is built again, and copying can wait", async () => {
    const folder = path.join(workbench.workspace, "generated");
    await closeAllEditors();
    await ui.openFile("stock.promptls.md");
    fs.mkdirSync(folder);
    for (let i = 0; i < MANY_FILES; i++) {
      const functions = Array.from({ length: 20 }, (_, j) => `def f${i}_${j}(a):\n    """Return the ${j}th thing."""\n    return a + ${j}\n`);
      fs.writeFileSync(path.join(folder, `m${i}.py`), functions.join("\n"));
    }
    await ui.run("promptls: Rescan Workspace");
    await ui.expectStatus("Indexing");
    await press("Control+k");
    await press("a");
    await page.locator(".quick-input-title", { hasText: /^Ask promptls: indexing \d+ %$/ }).waitFor();
    await press("Escape");
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await page.locator(".codelens-decoration a", { hasText: "Copy prompt" }).first().click();
    const notification = ui.notification("Copy the prompt now, or wait");
    await notification.waitFor();
    await page.locator(".codelens-decoration a", { hasText: "Build prompt" }).first().click();
    await ui.pageEditor().locator(".view-line", { hasText: "The prompt is built again when" }).first().waitFor();
    assert.equal(await ui.clipboard(), "");
    await notification.getByRole("button", { name: "Wait" }).click();
    await waitFor("the prompt is copied", async () => (await ui.clipboard()).includes("def reserve"));
    await ui.expectStatus("files indexed");
    await waitFor("the page is built again", async () => !(await ui.expectPage("def reserve")).includes("is built again"));
    fs.rmSync(folder, { recursive: true });
    await ui.run("promptls: Rescan Workspace");
    await closeAllEditors();
  });

  await check("the answer of the configured language model is written below the question", async () => {
    const before = fs.readFileSync(workbench.settingsFile, "utf8");
    const pid = await serverPid(workbench.index);
    const model = await startChatServer("It is `apply_discount`.");
    try {
      const settings = { "promptls.languageModel.use": "endpoint", "promptls.languageModel.endpoint": model.url, "promptls.languageModel.model": "m" };
      fs.writeFileSync(workbench.settingsFile, JSON.stringify({ ...JSON.parse(before), ...settings }));
      await ui.run("promptls: New Prompt Document");
      await ui.tab(/Untitled/).waitFor();
      await ui.focusEditor();
      await ui.type("Who gives a discount? @#apply_discount ");
      await page.locator(".codelens-decoration a", { hasText: "Answer here" }).first().click();
      await ui.expectText(/discount\? @#apply_discount[^]*\n<!-- answer: .*\nIt is `apply_discount`\./);
      await press("Control+End");
      await ui.type("And why? ");
      await press("Control+Alt+Enter");
      await ui.expectText(/And why\?.*\s+<!-- answer: /);
      assert.equal(await serverPid(workbench.index), pid);
    } finally {
      fs.writeFileSync(workbench.settingsFile, before);
      model.stop();
    }
    await closeAllEditors();
  });

  await check("a slow build can be cancelled, and the next one works", async () => {
    await ui.openFile("stock.promptls.md");
    await ui.focusEditor();
    const pid = await serverPid(workbench.index);
    process.kill(pid, "SIGSTOP"); // simulates a slow server
    try {
      await press("Control+Enter");
      const toast = ui.notification("building the prompt");
      await toast.waitFor();
      await toast.getByRole("button", { name: "Cancel" }).click();
      await toast.waitFor({ state: "detached" });
      await ui.run("promptls: New Prompt Document"); // the extension has read the cancellation when it has run this
      await ui.tab(/Untitled/).waitFor();
    } finally {
      process.kill(pid, "SIGCONT");
    }
    assert.equal(await ui.pageEditor().count(), 0, "no prompt was built");
    await ui.tab("stock.promptls.md").click();
    await ui.focusEditor();
    await press("Control+Enter");
    await ui.expectPage("def reserve");
    assert.equal(await serverPid(workbench.index), pid);
    await closeAllEditors();
  });

  await check("the question input completes mentions and builds the prompt", async () => {
    await press("Control+k");
    await press("a");
    await ui.quickInput.waitFor();
    await ui.type("Who reserves articles? @sto");
    assert.equal(await ui.quickInput.inputValue(), "Who reserves articles? @sto");
    await ui.quickRows.filter({ hasText: "shop/stock.py" }).first().waitFor();
    await picture("ask");
    await press("Enter");
    await waitFor("the mention is inserted", async () => (await ui.quickInput.inputValue()).endsWith("@shop/stock.py "));
    await ui.quickRows.filter({ hasText: "Build prompt and preview it" }).first().waitFor();
    await waitFor("the preview action comes first", async () => (await ui.quickRows.first().innerText()).includes("preview it"));
    await press("Enter");
    await ui.expectPage("raise OutOfStock");
    await closeAllEditors();
  });

  await check("Enter waits for the completions of the mention that is typed", async () => {
    await press("Control+k");
    await press("a");
    await ui.quickInput.waitFor();
    const pid = await serverPid(workbench.index);
    const whileSlow = async (actions: () => Promise<void>) => {
      process.kill(pid, "SIGSTOP");
      await actions().finally(() => process.kill(pid, "SIGCONT"));
    };
    await whileSlow(async () => {
      await ui.type("Who reserves articles? @#reser");
      await press("Enter");
      assert.equal(await ui.quickInput.inputValue(), "Who reserves articles? @#reser");
    });
    await waitFor("the mention is inserted", async () => (await ui.quickInput.inputValue()).endsWith("@#reserve "));
    await ui.quickRows.filter({ hasText: /preview it[^]*@#reserve: \d+ tokens/ }).first().waitFor();
    await whileSlow(async () => {
      await ui.type("in @#Mon");
      for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await press(key); // an action that the user chooses
      await ui.expectText("Who reserves articles? @#reserve in @#Mon");
    });
    await closeAllEditors();
  });

  const selectLines = async () => {
    await ui.openFile("shop/cart.py");
    await ui.focusEditor();
    await ui.run("Go to Line/Column");
    await ui.quickInput.fill(":25");
    await press("Enter");
    for (let i = 0; i < 4; i++) await press("Shift+ArrowDown");
  };

  await check("the question begins with the selection, whose tokens are shown", async () => {
    await selectLines();
    await press("Control+k");
    await press("a");
    await waitFor("the selection is mentioned", async () => (await ui.quickInput.inputValue({ timeout: 1000 })) === "@selection ");
    await ui.quickRows.filter({ hasText: /@selection: \d+ tokens/ }).first().waitFor();
    await ui.type("why five percent?");
    await press("Enter");
    await ui.expectPage(/✓ @selection.*[^]*why five percent/);
    await closeAllEditors();
  });

  await check("the context menu asks about the selection", async () => {
    await selectLines();
    await page.keyboard.press("Shift+F10");
    const entry = page.locator(".context-view .action-item", { hasText: "Ask promptls About Selection" }).first();
    await waitFor("the selection is mentioned", async () => {
      if (await entry.isVisible()) await entry.click({ timeout: 2000 }); // a menu that has just opened ignores clicks
      return (await ui.quickInput.inputValue({ timeout: 1000 })) === "@selection ";
    });
    await press("Escape");
    await closeAllEditors();
  });

  await check("search shows results while typing, and opens a result", async () => {
    await ui.run("promptls: Search");
    await waitFor("the search input opens", async () => (await ui.quickInput.getAttribute("placeholder"))?.includes("plain words"));
    await ui.type("loyal customers pay less");
    await ui.quickRows.filter({ hasText: "apply_discount" }).first().waitFor();
    await ui.quickRows.filter({ hasText: "apply_discount" }).first().click();
    await ui.tab("cart.py").waitFor();
    await ui.expectText("def apply_discount");
  });

  await check("a symbol is explained with its callers", async () => {
    await ui.editor().locator(".view-line span", { hasText: "apply_discount" }).last().click();
    await ui.run("promptls: Explain Symbol");
    assert.match(await ui.expectPage("apply_discount"), /Called by[\s\S]*Cart\.total/i);
    await closeAllEditors();
  });

  await check("call paths and the knowledge graph are shown", async () => {
    await ui.run("promptls: Show Call Paths");
    await ui.quickInput.fill("Cart.total");
    await press("Enter");
    await waitFor("the second input opens", async () => (await page.locator(".quick-input-message").innerText()).includes("paths from Cart.total"));
    await ui.quickInput.fill("rounded");
    await press("Enter");
    await ui.expectPage(/Cart\.total[\s\S]*apply_discount[\s\S]*rounded/);
    await ui.run("promptls: Show Knowledge Graph");
    await ui.quickInput.fill("money");
    await press("Enter");
    await ui.expectPage(/Money[\s\S]*shop\/money\.py:/);
    assert.equal(await ui.page.locator(".tab", { hasText: "Graph" }).count(), 1, "the page replaces the one before");
    await closeAllEditors();
  });

  await check("a memory entry is added, listed and removed", async () => {
    await ui.run("promptls: Remember");
    for (const text of ["Amounts are kept in cents.", "Cents"]) {
      await waitFor("the next input opens", async () => (await ui.quickInput.getAttribute("type")) === "text");
      await ui.quickInput.fill(text);
      await press("Enter");
    }
    await ui.quickRows.filter({ hasText: "rule" }).first().click();
    await ui.quickRows.filter({ hasText: "User" }).first().click();
    await waitFor("the entry is listed", async () => {
      await ui.run("promptls: Show Memory");
      const row = ui.quickRows.filter({ hasText: "Amounts are kept in cents." }).first();
      await row.waitFor({ timeout: 3000 });
      await row.hover();
      await row.locator(".codicon-trash").click();
      return true;
    });
    await ui.quickRows.filter({ hasText: "The memory is empty." }).first().waitFor();
    await press("Escape");
  });

  await check("a recipe is selected, gets its arguments and builds a prompt", async () => {
    await ui.run("promptls: Ask by Recipe");
    await ui.quickInput.fill("defects");
    await ui.quickRows.filter({ hasText: "Find defects and risks" }).first().click();
    await waitFor("the argument input opens", async () => (await page.locator(".quick-input-title").innerText()).includes("(1/"));
    await ui.quickInput.fill("rounding errors");
    await press("Enter");
    await waitFor("the question input opens", async () => (await ui.quickInput.getAttribute("placeholder"))?.startsWith("Question"));
    await ui.quickInput.fill("See @#rounded ");
    await waitFor("the preview action comes first", async () => (await ui.quickRows.first().innerText()).includes("preview it"));
    await press("Enter");
    await ui.expectPage("rounding errors");
    await closeAllEditors();
  });

  await check("the rule that ignores a file is shown", async () => {
    fs.writeFileSync(path.join(workbench.workspace, "secret.txt"), "hush\n");
    await ui.openFile("secret.txt");
    await ui.run("promptls: Why Is This File Not Indexed");
    await ui.notification(/secret\.txt is not indexed: .*secret\.txt/).waitFor();
    await ui.dismissNotifications();
    await closeAllEditors();
  });

  await check("the status bar item opens the menu, and doctor and log are shown", async () => {
    await ui.statusItem.click();
    await ui.quickRows.filter({ hasText: "Doctor" }).first().click();
    await ui.expectText("tree-sitter parses a file", 60_000);
    await ui.expectText("the setting promptls.server.path");
    await ui.run("promptls: Show Log");
    await page.locator(".part.panel .view-line", { hasText: "Starting" }).first().waitFor();
    await ui.run("View: Hide Panel");
    await closeAllEditors();
  });

  await check("mention kinds and the status are shown", async () => {
    await ui.run("promptls: Show Mention Kinds");
    await ui.expectPage("@#Class.method");
    await ui.run("promptls: Show Status");
    await ui.expectPage("embedding model");
    await closeAllEditors();
  });

  await check("@promptls in the chat sends the prompt to the selected model and shows references", async () => {
    await ui.run("Chat: Open Chat");
    const input = page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first();
    await input.click();
    await ui.type("@promptls When do customers pay less? @#apply_discount");
    await press("Escape");
    await press("Enter");
    await page.locator(".interactive-response", { hasText: "Answer of the fake model." }).first().waitFor({ timeout: 30_000 });
    await page.locator(".interactive-response .chat-used-context, .interactive-response", { hasText: /Used \d+ references?/ }).first().waitFor();
    const last = fs.readFileSync(modelLog, "utf8").trim().split("\n").map((line) => JSON.parse(line)).at(-1);
    assert.equal(last.extension, "promptls.promptls");
    const sent = last.messages.map((m: { text: string }) => m.text).join("\n");
    assert.ok(sent.includes("Regular customers pay five percent less") && sent.includes("When do customers pay less?"), sent);
  });

  await check("/prompt in the chat shows the prompt without sending it", async () => {
    const before = fs.readFileSync(modelLog, "utf8");
    await page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first().click();
    await ui.type("/prompt How is money rounded? @#rounded");
    await press("Escape");
    await press("Enter");
    await page.locator(".interactive-response", { hasText: "def rounded(money)" }).first().waitFor({ timeout: 30_000 });
    assert.equal(fs.readFileSync(modelLog, "utf8"), before);
  });

  await check("a page sends its question to the chat participant, and the prompt after a decision", async () => {
    const input = page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first();
    const inputText = async () => (await input.innerText()).replace(/\s+/g, " ");
    await page.setViewportSize({ width: 2600, height: 760 });
    await ui.openFile("stock.promptls.md");
    await ui.focusEditor();
    await press("Control+Enter");
    await ui.expectPage("def reserve");
    await press("s");
    await waitFor("the chat input has the question", async () => (await inputText()).includes("@promptls Who reserves articles? @#reserve"));
    await ui.expectPage("def reserve");
    await ui.pageEditor().locator(".view-line", { hasText: /stock\.py.*\[pin\]/ }).first().click();
    await press("p");
    await ui.expectPage("[unpin]");
    await ui.titleButton("Send to Chat").click();
    await waitFor("the chat input contains the prompt", async () => (await inputText()).includes("Answer the question from the"));
    await page.setViewportSize({ width: 1200, height: 760 });
    await closeAllEditors();
    await ui.run("View: Toggle Secondary Side Bar Visibility");
  });

  await check("the server is restarted by a command, and a build works", async () => {
    const before = await serverPid(workbench.index);
    await ui.run("promptls: Restart Server");
    await waitFor("a new process runs", async () => (await serverPid(workbench.index)) !== before);
    await ui.openFile("stock.promptls.md");
    await ui.focusEditor();
    await press("Control+Enter");
    await ui.expectPage("def reserve");
    await closeAllEditors();
  });

  await check("a killed server is restarted, and a build works", async () => {
    const before = await serverPid(workbench.index);
    process.kill(before, "SIGKILL");
    await ui.openFile("stock.promptls.md");
    await ui.focusEditor();
    await press("Control+Enter");
    await ui.expectPage("def reserve");
    assert.notEqual(await serverPid(workbench.index), before);
    await closeAllEditors();
  });

  await check("a server that crashes repeatedly is not restarted, and a restart is offered", async () => {
    const offer = ui.notification("will not be restarted");
    await waitFor("the restart is offered", async () => {
      if (await offer.isVisible()) return true;
      for (const pid of serverPids(workbench.index)) process.kill(pid, "SIGKILL");
      return false;
    });
    await offer.getByRole("button", { name: "Restart Server" }).click();
    await ui.expectStatus("files indexed", 60_000);
  });
}
