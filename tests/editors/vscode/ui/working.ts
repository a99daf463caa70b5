// A day with the extension: asking, building, looking things up, and a server that is stopped, restarted and killed.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { serverPid, serverPids } from "../lib/processes";
import { until } from "../lib/report";
import type { Scene } from "./drive";

export async function working({ screen, check, picture }: Scene, asked: string): Promise<void> {
  const { page, bench } = screen;
  const key = (name: string) => page.keyboard.press(name);
  const closeAll = async () => {
    await screen.run("View: Close All Editors");
    const forget = page.locator(".monaco-dialog-box .monaco-button", { hasText: "Don't Save" }).first();
    await until("no editors", async () => {
      if (await forget.isVisible()) await forget.click();
      return (await page.locator(".tabs-container .tab").count()) === 0;
    });
  };

  fs.writeFileSync(path.join(bench.workspace, "stock.prompt.md"), "Who puts articles aside? @#reserve\n");
  await screen.run("View: Toggle Primary Side Bar Visibility");

  await check("a workspace is opened and the status item tells that it is indexed", async () => {
    await screen.statusSays("files indexed", 60_000);
  });

  await check("an @-mention that is typed is completed, and the completion is taken", async () => {
    await screen.run("promptls: New Prompt Document");
    await screen.tab(/Untitled/).waitFor(); // what is typed before it is there goes elsewhere
    await screen.focusEditor();
    await screen.type("How is money rounded, and who gets a discount? @shop");
    await screen.suggestions.filter({ hasText: "@shop/money.py" }).first().waitFor();
    await picture("completion");
    await screen.type("/mon");
    await until("one completion", async () => (await screen.suggestions.allInnerTexts()).length === 1);
    await key("Enter");
    await screen.sees("discount? @shop/money.py");
    await screen.type(" @#apply_d");
    await screen.suggestions.filter({ hasText: "@#apply_discount" }).first().waitFor();
    await key("Enter");
    await screen.sees("@#apply_discount");
  });

  await check("the hover over a mention shows what is sent", async () => {
    const mention = screen.editor().locator(".view-line span", { hasText: "@shop/money.py" }).last();
    await until("the hover", async () => {
      await mention.hover({ timeout: 2000 });
      const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: "is included" }).first();
      await hover.waitFor({ timeout: 3000 });
      return (await hover.innerText()).includes("def rounded(money)");
    });
    await page.mouse.move(5, 5);
  });

  await check("a mistake is marked, and its fix is applied", async () => {
    await key("Control+End");
    await screen.type(" @#rounde_up ");
    await screen.editor().locator(".squiggly-error, .squiggly-warning, .squiggly-info").first().waitFor();
    for (let i = 0; i < 4; i++) await key("ArrowLeft");
    const fix = page.locator(".action-widget .monaco-list-row", { hasText: "@#rounded" }).first();
    await until("the fixes", async () => {
      await key("Control+.");
      await fix.waitFor({ timeout: 3000 });
      return true;
    });
    await key("Enter");
    await screen.sees(/@#rounded\s/);
  });

  await check("an edit that is not saved is in the built prompt", async () => {
    await screen.openFile("shop/money.py");
    await key("Control+Home");
    await screen.type("RATE_OF_THE_DAY = 1.07  # by courier");
    await key("Enter");
    await screen.sees("RATE_OF_THE_DAY");
    await screen.tab(/How is money/).click();
    await screen.focusEditor();
    await key("Control+End");
    await key("Control+Enter");
    const shown = await screen.webview("Prompt");
    await shown.locator("pre", { hasText: "RATE_OF_THE_DAY = 1.07  # by courier" }).waitFor();
    assert.ok(!fs.readFileSync(path.join(bench.workspace, "shop/money.py"), "utf8").includes("RATE_OF_THE_DAY"));
    await picture("preview");
  });

  await check("the preview tells what is in, what each section costs, and what became of each mention", async () => {
    const shown = await screen.webview("Prompt");
    assert.match(await shown.locator(".spent").innerText(), /^[\d,]+ of [\d,]+ tokens/);
    assert.ok((await shown.locator("svg.bar rect.part").count()) >= 2);
    assert.match((await shown.locator("svg.bar").getAttribute("aria-label")) as string, /context [\d,]+/);
    await shown.locator("section li", { hasText: "@#apply_discount" }).locator(".badge.good").first().waitFor();
    await shown.locator("ol.rows li", { hasText: "shop/money.py" }).first().waitFor();
  });

  await check("the preview is moved through by keys, and a region in it is opened", async () => {
    const shown = await screen.webview("Prompt");
    const rows = shown.locator("button.row");
    await rows.first().focus();
    await key("ArrowDown");
    assert.equal(await rows.nth(1).evaluate((row: Element) => row === row.ownerDocument.activeElement), true);
    await shown.locator("ol.rows button", { hasText: "apply_discount" }).first().click();
    await screen.tab("cart.py").waitFor();
    await screen.sees("def apply_discount");
  });

  await check("the preview copies the prompt, opens it as a document and builds it again", async () => {
    const shown = await screen.webview("Prompt");
    await shown.getByRole("button", { name: "Copy", exact: true }).click();
    await until("the clipboard", async () => (await screen.clipboard()).includes("RATE_OF_THE_DAY"));
    await screen.tab("money.py").click();
    await screen.focusEditor();
    await key("Control+Home");
    await screen.type("SECOND_RATE = 2");
    await key("Enter");
    await shown.getByRole("button", { name: "Build Again" }).click();
    await (await screen.webview("Prompt")).locator("pre", { hasText: "SECOND_RATE = 2" }).waitFor();
    await (await screen.webview("Prompt")).getByRole("button", { name: "Open as Document" }).click();
    await screen.sees("Boundary:");
  });

  await check("the lens above the question builds the prompt too", async () => {
    await closeAll();
    await screen.openFile("stock.prompt.md");
    await page.locator(".codelens-decoration a", { hasText: "Build prompt" }).first().click();
    await (await screen.webview("Prompt")).locator("pre", { hasText: "def reserve(article, count)" }).waitFor();
    await closeAll();
  });

  await check("a long build can be cancelled, and the next one works", async () => {
    await screen.openFile("stock.prompt.md");
    await screen.focusEditor();
    const pid = await serverPid(bench.index);
    process.kill(pid, "SIGSTOP"); // a server that takes its time
    try {
      await key("Control+Enter");
      const toast = screen.notification("building the prompt");
      await toast.waitFor();
      await toast.getByRole("button", { name: "Cancel" }).click();
      await toast.waitFor({ state: "detached" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    assert.equal(await page.locator("iframe.webview.ready").count(), 0, "nothing was built");
    await screen.focusEditor();
    await key("Control+Enter");
    await (await screen.webview("Prompt")).locator("pre", { hasText: "def reserve" }).waitFor();
    assert.equal(await serverPid(bench.index), pid);
    await closeAll();
  });

  await check("the box for a question completes mentions and builds", async () => {
    await key("Control+k");
    await key("a");
    await screen.quickInput.waitFor();
    await screen.type("Who reserves articles? @sto");
    await screen.quickRows.filter({ hasText: "shop/stock.py" }).first().waitFor();
    await picture("ask");
    await key("Enter");
    await until("the mention", async () => (await screen.quickInput.inputValue()).endsWith("@shop/stock.py "));
    await screen.quickRows.filter({ hasText: "Build the prompt and preview it" }).first().waitFor();
    await until("the deed in front", async () => (await screen.quickRows.first().innerText()).includes("preview it"));
    await key("Enter");
    await (await screen.webview("Prompt")).locator("pre", { hasText: "raise OutOfStock" }).waitFor();
    await closeAll();
  });

  await check("a selection is asked about from the context menu", async () => {
    await screen.openFile("shop/cart.py");
    await screen.focusEditor();
    await screen.run("Go to Line/Column");
    await screen.quickInput.fill(":25");
    await key("Enter");
    for (let i = 0; i < 4; i++) await key("Shift+ArrowDown");
    await page.keyboard.press("Shift+F10");
    const entry = page.locator(".context-view .action-item", { hasText: "Ask promptls About This" }).first();
    await until("the mention", async () => {
      if (await entry.isVisible()) await entry.click({ timeout: 2000 }); // a menu that has just opened takes no click
      return (await screen.quickInput.inputValue({ timeout: 1000 })) === "@shop/cart.py:25-28 ";
    });
    await key("Escape");
    await closeAll();
  });

  await check("search finds as one types, and opens what is chosen", async () => {
    await screen.run("promptls: Search");
    await until("the search box", async () => (await screen.quickInput.getAttribute("placeholder"))?.includes("plain words"));
    await screen.type("loyal customers pay less");
    await screen.quickRows.filter({ hasText: "apply_discount" }).first().waitFor();
    await screen.quickRows.filter({ hasText: "apply_discount" }).first().click();
    await screen.tab("cart.py").waitFor();
    await screen.sees("def apply_discount");
  });

  await check("a symbol is explained, and its callers lead on", async () => {
    await screen.editor().locator(".view-line span", { hasText: "apply_discount" }).last().click();
    await screen.run("promptls: Explain Symbol");
    const shown = await screen.webview("apply_discount");
    await shown.locator("section", { hasText: "Called by" }).locator("button", { hasText: "Cart.total" }).first().waitFor();
    await closeAll();
  });

  await check("the graph and call paths are shown", async () => {
    await screen.run("promptls: Show Call Paths");
    await screen.quickInput.fill("Cart.total");
    await key("Enter");
    await until("the second question", async () => (await page.locator(".quick-input-message").innerText()).includes("From Cart.total to"));
    await screen.quickInput.fill("rounded");
    await key("Enter");
    const shown = await screen.webview("Cart.total → rounded");
    assert.deepEqual(await shown.locator("ol.path b").allInnerTexts(), ["Cart.total", "apply_discount", "rounded"]);
    await screen.run("promptls: Show Knowledge Graph");
    await screen.quickInput.fill("money");
    await key("Enter");
    await (await screen.webview("money")).locator("button", { hasText: "Money" }).first().waitFor();
    await closeAll();
  });

  await check("something is remembered, listed and forgotten", async () => {
    await screen.run("promptls: Remember");
    for (const words of ["Amounts are kept in cents.", "Cents"]) {
      await until("the next question", async () => (await screen.quickInput.getAttribute("type")) === "text");
      await screen.quickInput.fill(words);
      await key("Enter");
    }
    await screen.quickRows.filter({ hasText: "rule" }).first().click();
    await screen.quickRows.filter({ hasText: "For me" }).first().click();
    await until("the entry", async () => {
      await screen.run("promptls: Show Memory");
      const row = screen.quickRows.filter({ hasText: "Amounts are kept in cents." }).first();
      await row.waitFor({ timeout: 3000 });
      await row.hover();
      await row.locator(".codicon-trash").click();
      return true;
    });
    await screen.quickRows.filter({ hasText: "Nothing is remembered yet." }).first().waitFor();
    await key("Escape");
  });

  await check("a recipe is chosen, filled in and asked with", async () => {
    await screen.run("promptls: Ask by Recipe");
    await screen.quickInput.fill("risky");
    await screen.quickRows.filter({ hasText: "Find what is wrong or risky" }).first().click();
    await until("the argument", async () => (await page.locator(".quick-input-title").innerText()).includes("(1/"));
    await screen.quickInput.fill("rounding errors");
    await key("Enter");
    await until("the question", async () => (await screen.quickInput.getAttribute("placeholder"))?.startsWith("A question"));
    await screen.quickInput.fill("Look at @#rounded ");
    await until("the deed in front", async () => (await screen.quickRows.first().innerText()).includes("preview it"));
    await key("Enter");
    await (await screen.webview("Prompt")).locator("pre", { hasText: "rounding errors" }).waitFor();
    await closeAll();
  });

  await check("why a file is not indexed is told with the rule", async () => {
    fs.writeFileSync(path.join(bench.workspace, "secret.txt"), "hush\n");
    await screen.openFile("secret.txt");
    await screen.run("promptls: Why Is This File Not Indexed");
    await screen.notification(/secret\.txt is not indexed: .*secret\.txt/).waitFor();
    await screen.dismissNotifications();
    await closeAll();
  });

  await check("the status item leads to the commands, the doctor and the log", async () => {
    await screen.status.click();
    await screen.quickRows.filter({ hasText: "Doctor" }).first().click();
    await screen.sees("tree-sitter outlines a file", 60_000);
    await screen.sees("the setting promptls.server.path");
    await screen.run("promptls: Show Log");
    await page.locator(".part.panel .view-line", { hasText: "Starting" }).first().waitFor();
    await screen.run("View: Hide Panel");
    await closeAll();
  });

  await check("what can be mentioned is shown", async () => {
    await screen.run("promptls: What Can Be Mentioned");
    await (await screen.webview("What can be mentioned")).locator("code", { hasText: "@#Class.method" }).first().waitFor();
    await closeAll();
  });

  await check("@promptls in the chat sends the prompt to the chosen model and shows what it rests on", async () => {
    await screen.run("Chat: Open Chat");
    const input = page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first();
    await input.click();
    await screen.type("@promptls When do customers pay less? @#apply_discount");
    await key("Escape");
    await key("Enter");
    await page.locator(".interactive-response", { hasText: "The scribe has read your prompt." }).first().waitFor({ timeout: 30_000 });
    await page.locator(".interactive-response .chat-used-context, .interactive-response", { hasText: /Used \d+ references?/ }).first().waitFor();
    const last = fs.readFileSync(asked, "utf8").trim().split("\n").map((line) => JSON.parse(line)).at(-1);
    assert.equal(last.extension, "promptls.promptls");
    const sent = last.messages.map((m: { text: string }) => m.text).join("\n");
    assert.ok(sent.includes("Regular customers pay five percent less") && sent.includes("When do customers pay less?"), sent);
  });

  await check("/prompt in the chat only shows the prompt", async () => {
    const before = fs.readFileSync(asked, "utf8");
    await page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first().click();
    await screen.type("/prompt How is money rounded? @#rounded");
    await key("Escape");
    await key("Enter");
    await page.locator(".interactive-response", { hasText: "def rounded(money)" }).first().waitFor({ timeout: 30_000 });
    assert.equal(fs.readFileSync(asked, "utf8"), before);
  });

  await check("the preview sends the prompt to the chat view", async () => {
    await screen.openFile("stock.prompt.md");
    await screen.focusEditor();
    await key("Control+Enter");
    await (await screen.webview("Prompt")).getByRole("button", { name: "Send to Chat" }).click();
    await until("the prompt in the chat box", async () => {
      const text = await page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first().innerText();
      return text.replace(/\u00a0/g, " ").includes("Answer the question from the");
    });
    await closeAll();
    await screen.run("View: Toggle Secondary Side Bar Visibility");
  });

  await check("the server is restarted by hand, and a build works", async () => {
    const before = await serverPid(bench.index);
    await screen.run("promptls: Restart Server");
    await until("another process", async () => (await serverPid(bench.index)) !== before);
    await screen.openFile("stock.prompt.md");
    await screen.focusEditor();
    await key("Control+Enter");
    await (await screen.webview("Prompt")).locator("pre", { hasText: "def reserve" }).waitFor();
    await closeAll();
  });

  await check("a server that is killed comes back by itself, and a build works", async () => {
    const before = await serverPid(bench.index);
    process.kill(before, "SIGKILL");
    await screen.openFile("stock.prompt.md");
    await screen.focusEditor();
    await key("Control+Enter");
    await (await screen.webview("Prompt")).locator("pre", { hasText: "def reserve" }).waitFor();
    assert.notEqual(await serverPid(bench.index), before);
    await closeAll();
  });

  await check("a server that keeps dying is not started for ever, and a restart is offered", async () => {
    const offer = screen.notification("it is not started again");
    await until("the offer", async () => {
      if (await offer.isVisible()) return true;
      for (const pid of serverPids(bench.index)) process.kill(pid, "SIGKILL");
      return false;
    });
    await offer.getByRole("button", { name: "Restart Server" }).click();
    await screen.statusSays("files indexed", 60_000);
  });
}
