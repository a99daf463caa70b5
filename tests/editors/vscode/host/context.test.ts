// What only the editor knows reaches the prompt when a message asks for it.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { closeAll, ready, show, until } from "./kit";

describe("context", () => {
  afterEach(closeAll);

  it("@active is the code in front, even while a prompt document has the focus", async () => {
    const it = await ready();
    await show("shop/stock.py");
    await vscode.commands.executeCommand("promptls.newPrompt");
    const built = await it.buildPrompt({ message: "What is this? @active" });
    assert.ok(built.mentions[0]!.targets[0]!.uri.endsWith("/shop/stock.py"));
  });

  it("@selection is what is selected and in sight", async () => {
    const it = await ready();
    const editor = await show("shop/money.py");
    editor.selection = new vscode.Selection(16, 0, 18, 10);
    await until("the selection", async () => {
      const built = await it.buildPrompt({ message: "What is this? @selection" });
      const target = built.mentions[0]?.targets[0];
      return target?.uri.endsWith("/shop/money.py") && target.range.start.line === 16;
    });
  });

  it("@open are the tabs", async () => {
    const it = await ready();
    await vscode.window.showTextDocument(vscode.Uri.joinPath((await show("shop/cart.py")).document.uri, "../stock.py"), { preview: false });
    const built = await it.buildPrompt({ message: "Compare @open" });
    const names = built.mentions[0]!.targets.map((target) => target.uri.split("/").pop());
    assert.ok(names.includes("cart.py") || names.includes("stock.py"), names.join());
  });

  it("@problems are those of other tools, with code and place", async () => {
    const it = await ready();
    const editor = await show("shop/cart.py");
    const other = vscode.languages.createDiagnosticCollection("linter");
    const found = new vscode.Diagnostic(new vscode.Range(26, 4, 26, 12), "Magic number 3", vscode.DiagnosticSeverity.Warning);
    found.source = "linter";
    found.code = "no-magic";
    other.set(editor.document.uri, [found]);
    try {
      const built = await it.buildPrompt({ message: "Mend @problems" });
      assert.equal(built.mentions[0]?.status, "included", JSON.stringify(built.mentions));
      assert.ok(built.prompt!.includes("Magic number 3"), built.prompt);
    } finally {
      other.dispose();
    }
  });

  it("@clipboard is the clipboard", async () => {
    const it = await ready();
    await vscode.env.clipboard.writeText("KeyError: 'aardvark'");
    const built = await it.buildPrompt({ message: "Why this? @clipboard" });
    assert.ok(built.prompt!.includes("KeyError: 'aardvark'"), JSON.stringify(built.mentions));
  });

  it("@terminal is the last command and what it said", async () => {
    const it = await ready();
    const terminal = vscode.window.createTerminal({ name: "shop" });
    terminal.show();
    try {
      const shell = terminal as vscode.Terminal & { shellIntegration?: { executeCommand(line: string): void } };
      const integration = await until("shell integration", () => shell.shellIntegration, 20_000);
      integration.executeCommand("echo walrus-$((40 + 2))");
      await until("the terminal in the prompt", async () => {
        const built = await it.buildPrompt({ message: "Why this? @terminal" });
        assert.ok(built.prompt!.includes("walrus-42"), built.prompt!.slice(built.prompt!.indexOf("terminal") - 200).slice(0, 600));
        return true;
      });
    } finally {
      terminal.dispose();
    }
  });
});
