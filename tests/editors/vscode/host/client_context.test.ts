// Client context: the state of the editor is part of the prompt if the message mentions it.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { applyEdit, closeAllEditors, openFile, waitFor, waitForIndex, workspaceUri } from "./helpers";

const SCRATCH = "def scratch_walrus():\n    return 4711\n";
const gitUri = (uri: vscode.Uri) => uri.with({ scheme: "git", query: JSON.stringify({ path: uri.fsPath, ref: "HEAD" }) });

async function openRemote(name: string): Promise<vscode.TextDocument> {
  const provider = vscode.workspace.registerTextDocumentContentProvider("remote-shop", { provideTextDocumentContent: () => SCRATCH });
  try {
    return await vscode.workspace.openTextDocument(vscode.Uri.parse(`remote-shop://host/${name}`));
  } finally {
    provider.dispose();
  }
}

/** Documents of all schemes that the editor and its extensions use, and the function that shows one. */
const OTHER_DOCUMENTS: Record<string, () => Promise<vscode.TextEditor>> = {
  untitled: async () => vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "python", content: SCRATCH })),
  "with a scheme of an extension": async () => vscode.window.showTextDocument(await openRemote("shown.py")),
  "of the git extension": async () => vscode.window.showTextDocument(await vscode.workspace.openTextDocument(gitUri(workspaceUri("shop/stock.py")))),
  "outside of the workspace": async () => {
    const uri = vscode.Uri.joinPath(workspaceUri("."), "../scratch.py");
    await vscode.workspace.fs.writeFile(uri, Buffer.from(SCRATCH));
    return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
  },
};

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

  for (const [name, show] of Object.entries(OTHER_DOCUMENTS)) {
    it(`documents ${name} can be mentioned by kind`, async () => {
      const api = await waitForIndex();
      const editor = await show();
      const line = editor.document.lineAt(0).text;
      editor.selection = new vscode.Selection(0, 0, 1, 0);
      await waitFor("the document and the selection are sent", async () => {
        for (const message of ["What is this? @active", "What is this? @selection", "What are these? @open"]) {
          const built = await api.buildPrompt({ message });
          const target = built.mentions[0]?.targets[0];
          if (target === undefined || !built.prompt!.includes(line)) return false;
          assert.equal(target.uri, editor.document.uri.toString(), message);
        }
        return true;
      });
    });
  }

  it("unsaved edits of an untitled document are in the prompt", async () => {
    const api = await waitForIndex();
    const { document } = await OTHER_DOCUMENTS.untitled!();
    await applyEdit(document, (e) => e.replace(document.uri, new vscode.Range(1, 11, 1, 15), "1789"));
    const built = await api.buildPrompt({ message: "What is this? @active" });
    assert.ok(built.prompt!.includes("return 1789"), JSON.stringify(built.mentions));
  });

  it("@active can be either side of a comparison", async () => {
    const api = await waitForIndex();
    const file = workspaceUri("shop/stock.py");
    await vscode.commands.executeCommand("vscode.diff", gitUri(file), file, "stock.py");
    const mentioned = async () => (await api.buildPrompt({ message: "What is this? @active" })).mentions[0]!.targets[0]?.uri;
    await waitFor("the right side is mentioned", async () => (await mentioned()) === file.toString());
    await vscode.commands.executeCommand("workbench.action.compareEditor.focusSecondarySide");
    await waitFor("the left side is mentioned", async () => (await mentioned()) === gitUri(file).toString());
  });

  it("documents that no editor shows are not sent", async () => {
    const api = await waitForIndex();
    const document = await openRemote("hidden.py");
    const built = await api.buildPrompt({ message: "What is this? @active", context: { activeDocument: document.uri.toString() } });
    assert.equal(built.mentions[0]!.status, "refused", JSON.stringify(built.mentions));
    assert.ok(!built.prompt!.includes("4711"));
    const listed = await api.buildPrompt({ message: "What are these? @open" });
    assert.ok(!listed.prompt!.includes("4711"), JSON.stringify(listed.mentions));
  });

  it("output channels are not sent", async () => {
    const api = await waitForIndex();
    await openFile("shop/stock.py");
    const channel = vscode.window.createOutputChannel("walrus");
    channel.append("secret of the walrus\n");
    channel.show();
    try {
      await waitFor("the channel is visible", () => vscode.window.visibleTextEditors.some((editor) => editor.document.uri.scheme === "output"));
      const built = await api.buildPrompt({ message: "What is this? @active @open @visible" });
      assert.ok(built.mentions[0]!.targets[0]!.uri.endsWith("/shop/stock.py"), JSON.stringify(built.mentions));
      assert.ok(!built.prompt!.includes("secret of the walrus"));
    } finally {
      channel.dispose();
      await vscode.commands.executeCommand("workbench.action.closePanel");
    }
  });

  it("the settings of the editor are sent only if they are the active document", async () => {
    const api = await waitForIndex();
    await vscode.commands.executeCommand("workbench.action.openSettingsJson");
    const settings = await waitFor("the settings are shown", () => vscode.window.visibleTextEditors.find((editor) => editor.document.uri.path.endsWith("/settings.json")));
    const uri = settings.document.uri.toString();
    const active = await api.buildPrompt({ message: "What is this? @active" });
    assert.equal(active.mentions[0]!.targets[0]!.uri, uri);
    const all = await api.buildPrompt({ message: "What are these? @open @visible" });
    assert.ok(all.mentions.every((mention) => mention.targets.every((target) => target.uri !== uri)), JSON.stringify(all.mentions));
    await openFile("shop/stock.py");
    const other = await api.buildPrompt({ message: "What are these? @active @open" });
    assert.ok(other.mentions.every((mention) => mention.targets.every((target) => target.uri !== uri)));
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
