// Client context: the state of the editor is part of the prompt if the message mentions it.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { closeAllEditors, openFile, waitFor, waitForIndex } from "./helpers";

describe("client context", () => {
  afterEach(closeAllEditors);

  it("@active is the active code document, even while a prompt document has the focus", async () => {
    const api = await waitForIndex();
    await openFile("shop/stock.py");
    await vscode.commands.executeCommand("promptls.newPrompt");
    const built = await api.buildPrompt({ message: "What is this? @active" });
    assert.ok(built.mentions[0]!.targets[0]!.uri.endsWith("/shop/stock.py"));
  });

  it("@selection is the selection of a visible editor", async () => {
    const api = await waitForIndex();
    const editor = await openFile("shop/money.py");
    editor.selection = new vscode.Selection(16, 0, 18, 10);
    await waitFor("the selection is sent", async () => {
      const built = await api.buildPrompt({ message: "What is this? @selection" });
      const target = built.mentions[0]?.targets[0];
      return target?.uri.endsWith("/shop/money.py") && target.range.start.line === 16;
    });
  });

  it("@open is the open tabs", async () => {
    const api = await waitForIndex();
    await vscode.window.showTextDocument(vscode.Uri.joinPath((await openFile("shop/cart.py")).document.uri, "../stock.py"), { preview: false });
    const built = await api.buildPrompt({ message: "Compare @open" });
    const names = built.mentions[0]!.targets.map((target) => target.uri.split("/").pop());
    assert.ok(names.includes("cart.py") || names.includes("stock.py"), names.join());
  });

  it("@diagnostics is the diagnostics of other extensions, with code and location", async () => {
    const api = await waitForIndex();
    const editor = await openFile("shop/cart.py");
    const collection = vscode.languages.createDiagnosticCollection("linter");
    const diagnostic = new vscode.Diagnostic(new vscode.Range(26, 4, 26, 12), "Magic number 3", vscode.DiagnosticSeverity.Warning);
    diagnostic.source = "linter";
    diagnostic.code = "no-magic";
    collection.set(editor.document.uri, [diagnostic]);
    try {
      const built = await api.buildPrompt({ message: "Fix @diagnostics" });
      assert.equal(built.mentions[0]?.status, "included", JSON.stringify(built.mentions));
      assert.ok(built.prompt!.includes("Magic number 3"), built.prompt);
    } finally {
      collection.dispose();
    }
  });

  it("@clipboard is the content of the clipboard", async () => {
    const api = await waitForIndex();
    await vscode.env.clipboard.writeText("KeyError: 'aardvark'");
    const built = await api.buildPrompt({ message: "Why this? @clipboard" });
    assert.ok(built.prompt!.includes("KeyError: 'aardvark'"), JSON.stringify(built.mentions));
  });

  it("@terminal is the last command and its output", async () => {
    const api = await waitForIndex();
    const terminal = vscode.window.createTerminal({ name: "shop" });
    terminal.show();
    try {
      const shell = terminal as vscode.Terminal & { shellIntegration?: { executeCommand(line: string): void } };
      const integration = await waitFor("shell integration is available", () => shell.shellIntegration, 20_000);
      integration.executeCommand("echo walrus-$((40 + 2))");
      await waitFor("the prompt contains the terminal output", async () => {
        const built = await api.buildPrompt({ message: "Why this? @terminal" });
        assert.ok(built.prompt!.includes("walrus-42"), built.prompt!.slice(built.prompt!.indexOf("terminal") - 200).slice(0, 600));
        return true;
      });
    } finally {
      terminal.dispose();
    }
  });
});
