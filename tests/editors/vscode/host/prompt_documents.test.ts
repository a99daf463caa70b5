// Language features of prompt documents; other documents get none.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { applyEdit, closeAllEditors, openFile, openPromptFile, waitFor, waitForIndex, withSetting, workspaceUri } from "./helpers";

function execute<T>(command: string, ...args: unknown[]): Thenable<T> {
  return vscode.commands.executeCommand<T>(command, ...args);
}

const labelOf = (item: vscode.CompletionItem) => (typeof item.label === "string" ? item.label : item.label.label);

async function waitForDiagnostic(document: vscode.TextDocument, code: string): Promise<vscode.Diagnostic> {
  return waitFor(`the diagnostic ${code} appears`, () => vscode.languages.getDiagnostics(document.uri).find((d) => d.source === "promptls" && codeOf(d) === code));
}

function codeOf(diagnostic: vscode.Diagnostic): unknown {
  return typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code;
}

describe("prompt documents", () => {
  before(waitForIndex);
  afterEach(closeAllEditors);

  it("have the language “promptls” by file name", async () => {
    assert.equal((await openPromptFile("x")).languageId, "promptls");
  });

  it("complete mentions, with token counts and the replaced range", async () => {
    const document = await openPromptFile("Why @cart");
    const list = await waitFor("completions are offered", async () => {
      const found = await execute<vscode.CompletionList>("vscode.executeCompletionItemProvider", document.uri, new vscode.Position(0, 9));
      return found.items.some((item) => labelOf(item).includes("shop/cart.py")) ? found : undefined;
    });
    const item = list.items.find((candidate) => labelOf(candidate).includes("shop/cart.py"))!;
    assert.match(String(item.detail), /\d+ tokens/);
    const range = item.range instanceof vscode.Range ? item.range : item.range!.replacing;
    assert.deepEqual([range.start.character, range.end.character], [4, 9]);
    assert.equal(item.insertText, "@shop/cart.py");
  });

  for (const mode of ["insert", "replace"]) {
    for (const rest of [":10-20", "#Store", "の端数処理", "的作用？", ", then", ")"]) {
      it(`keep “${rest}” after an accepted completion (${mode})`, async () => {
        await vscode.workspace.getConfiguration("editor").update("suggest.insertMode", mode, vscode.ConfigurationTarget.Global);
        try {
          const document = await openPromptFile(`説明 See @shop/mo${rest}`);
          const cursor = new vscode.Position(0, "説明 See @shop/mo".length);
          vscode.window.activeTextEditor!.selection = new vscode.Selection(cursor, cursor);
          await waitFor("the item is accepted", async () => {
            await execute("editor.action.triggerSuggest");
            await new Promise((resolve) => setTimeout(resolve, 300)); // the list has no event
            await execute("acceptSelectedSuggestion");
            return document.getText() !== `説明 See @shop/mo${rest}`;
          });
          assert.equal(document.getText(), `説明 See @shop/money.py${rest}`);
        } finally {
          await vscode.workspace.getConfiguration("editor").update("suggest.insertMode", undefined, vscode.ConfigurationTarget.Global);
        }
      });
    }
  }

  it("keep diagnostics while a mention is typed", async () => {
    const document = await openPromptFile("Is @#Monney right? ");
    await waitForDiagnostic(document, "unresolved");
    const own = () => vscode.languages.getDiagnostics(document.uri).filter((d) => d.source === "promptls");
    const counts = new Set<number>();
    const listener = vscode.languages.onDidChangeDiagnostics((event) => {
      if (event.uris.some((uri) => uri.toString() === document.uri.toString())) counts.add(own().length);
    });
    try {
      for (const letter of "@shop/crat.py") {
        await applyEdit(document, (e) => e.insert(document.uri, document.lineAt(0).range.end, letter));
        await new Promise((resolve) => setTimeout(resolve, 200)); // longer than the debounce of the server
      }
      assert.deepEqual([...counts].filter((count) => count !== 1), []);
      await applyEdit(document, (e) => e.insert(document.uri, document.lineAt(0).range.end, " "));
      await waitFor("the finished mention is diagnosed", () => own().length === 2);
    } finally {
      listener.dispose();
    }
  });

  it("state a problem once, in the diagnostic and not in the hover", async () => {
    const document = await openPromptFile("Why @#Monney and @shop/crat.py ?");
    await waitFor("both are diagnosed", () => vscode.languages.getDiagnostics(document.uri).length === 2);
    const hoverAt = (column: number) =>
      execute<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, new vscode.Position(0, column));
    for (const column of [6, 22]) {
      const hovers = await hoverAt(column);
      const text = hovers.flatMap((h) => h.contents.map((c) => (c as vscode.MarkdownString).value)).join("\n");
      assert.doesNotMatch(text, /not found|Did you mean/);
    }
  });

  it("show the content of a mention on hover", async () => {
    const document = await openPromptFile("Why? @shop/money.py:17-19");
    const text = await waitFor("a hover is shown", async () => {
      const hovers = await execute<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, new vscode.Position(0, 8));
      return hovers.flatMap((h) => h.contents.map((c) => (c as vscode.MarkdownString).value)).join("\n");
    });
    assert.ok(text.includes("def rounded(money)") && /\d+ tokens; the budget is [\d,]+/.test(text), text);
  });

  it("have definitions and links of mentions", async () => {
    const document = await openPromptFile("Why? @#Money.times");
    const found = await waitFor("a definition is found", async () => (await execute<(vscode.Location | vscode.LocationLink)[]>("vscode.executeDefinitionProvider", document.uri, new vscode.Position(0, 8)))[0]);
    const target = "targetUri" in found ? found.targetUri : found.uri;
    assert.equal(target.toString(), workspaceUri("shop/money.py").toString());
    const links = await execute<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri, 10);
    assert.ok(links.some((link) => link.target?.path.endsWith("/shop/money.py")));
  });

  it("report an unknown symbol with a quick fix", async () => {
    const document = await openPromptFile("See @#apply_discont please");
    const found = await waitForDiagnostic(document, "unresolved");
    const actions = await execute<vscode.CodeAction[]>("vscode.executeCodeActionProvider", document.uri, found.range, vscode.CodeActionKind.QuickFix.value);
    const fix = actions.find((action) => action.edit !== undefined && action.title.includes("apply_discount"));
    assert.ok(fix?.edit, actions.map((action) => action.title).join());
    await vscode.workspace.applyEdit(fix.edit);
    assert.equal(document.getText(), "See @#apply_discount please");
    await waitFor("the diagnostic disappears", () => vscode.languages.getDiagnostics(document.uri).length === 0);
  });

  it("report ignored files with the rule", async () => {
    const { writeFileSync } = await import("node:fs");
    writeFileSync(workspaceUri("secret.txt").fsPath, "hush\n");
    const ignored = await waitForDiagnostic(await openPromptFile("Read @secret.txt"), "refused");
    assert.match(ignored.message, /secret\.txt/);
  });

  it("have code lenses with commands of the extension", async () => {
    const document = await openPromptFile("How is money rounded? @#rounded");
    const lenses = await waitFor("code lenses are shown", async () => {
      const found = await execute<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri, 10);
      return found.length > 0 ? found : undefined;
    });
    const commands = lenses.map((lens) => lens.command?.command);
    assert.ok(commands.includes("promptls.openPrompt") && commands.includes("promptls.copyPrompt"), String(commands));
    assert.ok(lenses.some((lens) => /[\d,]+ of [\d,]+ tokens/.test(lens.command?.title ?? "")));
    const copy = lenses.find((lens) => lens.command?.command === "promptls.copyPrompt")!.command!;
    await vscode.env.clipboard.writeText("");
    await execute(copy.command, ...(copy.arguments ?? []));
    assert.ok((await waitFor("the prompt is copied", () => vscode.env.clipboard.readText())).includes("def rounded"));
  });

  it("have inlay hints, semantic tokens and symbols for each mention", async () => {
    const document = await openPromptFile("Compare @shop/cart.py and @#rounded here");
    const all = new vscode.Range(0, 0, 1, 0);
    const hints = await waitFor("inlay hints are shown", async () => {
      const found = await execute<vscode.InlayHint[]>("vscode.executeInlayHintProvider", document.uri, all);
      return found.length === 2 ? found : undefined;
    });
    assert.ok(hints.every((hint) => /\d+ tokens/.test(String(hint.label))));
    const tokens = await execute<vscode.SemanticTokens>("vscode.provideDocumentSemanticTokens", document.uri);
    assert.equal(tokens.data.length, 10);
    const symbols = await execute<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
    assert.deepEqual(symbols.map((symbol) => symbol.name), ["@shop/cart.py", "@#rounded"]);
  });

  it("update mentions when a file is renamed", async () => {
    const document = await openPromptFile("Why? @checkout.ts");
    await waitFor("the mention is resolved", async () => (await execute<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri, 10)).length > 0);
    await applyEdit(document, (edits) => edits.renameFile(workspaceUri("checkout.ts"), workspaceUri("till.ts")));
    try {
      await waitFor("the prompt document has the new name", () => document.getText() === "Why? @till.ts");
    } finally {
      await applyEdit(document, (edits) => edits.renameFile(workspaceUri("till.ts"), workspaceUri("checkout.ts")));
    }
  });

  it("can have other languages, by a setting", async () => {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: "Why? @shop/money.py" });
    const hovers = async () => execute<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, new vscode.Position(0, 8));
    assert.equal((await hovers()).length, 0);
    await withSetting("documents.languages", ["markdown"], vscode.ConfigurationTarget.Global, async () => {
      await waitFor("a hover is shown", async () => (await hovers()).length > 0);
    });
    await waitFor("no hover is shown", async () => (await hovers()).length === 0);
    await waitForIndex();
  });

  it("are the only documents with language features", async () => {
    const editor = await openFile("shop/money.py");
    await applyEdit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "# @shop/cart.py\n"));
    const hovers = await execute<vscode.Hover[]>("vscode.executeHoverProvider", editor.document.uri, new vscode.Position(0, 5));
    assert.equal(hovers.length, 0);
    const lenses = await execute<vscode.CodeLens[]>("vscode.executeCodeLensProvider", editor.document.uri, 10);
    assert.equal(lenses.length, 0);
    assert.equal(await execute("vscode.provideDocumentSemanticTokensLegend", editor.document.uri), undefined);
  });

  it("fold at fences if they are built prompts", async () => {
    const api = await waitForIndex();
    const built = await api.buildPrompt({ message: "How is money rounded? @#rounded" });
    const document = await vscode.workspace.openTextDocument({ language: "promptls-built", content: built.prompt! });
    await vscode.window.showTextDocument(document);
    const folds = await waitFor("folding ranges are available", async () => {
      const found = await execute<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", document.uri);
      return found?.length ? found : undefined;
    });
    assert.ok(folds.some((fold) => document.lineAt(fold.start).text.startsWith("<context-")));
  });
});
