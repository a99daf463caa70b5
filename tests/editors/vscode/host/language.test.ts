// Prompt documents are a language: everything that the server offers for them arrives, and only there.

import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { closeAll, edit, prompt, ready, show, until, uri, withSetting } from "./kit";

function run<T>(command: string, ...args: unknown[]): Thenable<T> {
  return vscode.commands.executeCommand<T>(command, ...args);
}

const labelOf = (item: vscode.CompletionItem) => (typeof item.label === "string" ? item.label : item.label.label);

async function problems(document: vscode.TextDocument, code: string): Promise<vscode.Diagnostic> {
  return until(`the diagnostic ${code}`, () => vscode.languages.getDiagnostics(document.uri).find((d) => d.source === "promptls" && codeOf(d) === code));
}

function codeOf(diagnostic: vscode.Diagnostic): unknown {
  return typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code;
}

describe("prompt documents", () => {
  before(ready);
  afterEach(closeAll);

  it("have their language by name, on disk and untitled", async () => {
    assert.equal((await prompt("x")).languageId, "promptls");
  });

  it("complete mentions, with their cost and the range they replace", async () => {
    const document = await prompt("Why @cart");
    const list = await until("completions", async () => {
      const found = await run<vscode.CompletionList>("vscode.executeCompletionItemProvider", document.uri, new vscode.Position(0, 9));
      return found.items.some((item) => labelOf(item).includes("shop/cart.py")) ? found : undefined;
    });
    const item = list.items.find((one) => labelOf(one).includes("shop/cart.py"))!;
    assert.match(String(item.detail), /\d+ tokens/);
    const range = item.range instanceof vscode.Range ? item.range : item.range!.replacing;
    assert.deepEqual([range.start.character, range.end.character], [4, 9]);
    assert.equal(item.insertText, "@shop/cart.py");
  });

  it("hover shows what is sent", async () => {
    const document = await prompt("Why? @shop/money.py:17-19");
    const text = await until("a hover", async () => {
      const hovers = await run<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, new vscode.Position(0, 8));
      return hovers.flatMap((h) => h.contents.map((c) => (c as vscode.MarkdownString).value)).join("\n");
    });
    assert.ok(text.includes("def rounded(money)") && /\d+ of [\d,]+ tokens/.test(text), text);
  });

  it("definition and links lead to what is mentioned", async () => {
    const document = await prompt("Why? @#Money.times");
    const found = await until("a definition", async () => (await run<(vscode.Location | vscode.LocationLink)[]>("vscode.executeDefinitionProvider", document.uri, new vscode.Position(0, 8)))[0]);
    const target = "targetUri" in found ? found.targetUri : found.uri;
    assert.equal(target.toString(), uri("shop/money.py").toString());
    const links = await run<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri, 10);
    assert.ok(links.some((link) => link.target?.path.endsWith("/shop/money.py")));
  });

  it("a name that is not there is a problem with a fix, and the fix mends it", async () => {
    const document = await prompt("See @#apply_discont please");
    const found = await problems(document, "unresolved");
    const actions = await run<vscode.CodeAction[]>("vscode.executeCodeActionProvider", document.uri, found.range, vscode.CodeActionKind.QuickFix.value);
    const fix = actions.find((action) => action.edit !== undefined && action.title.includes("apply_discount"));
    assert.ok(fix?.edit, actions.map((action) => action.title).join());
    await vscode.workspace.applyEdit(fix.edit);
    assert.equal(document.getText(), "See @#apply_discount please");
    await until("no problem", () => vscode.languages.getDiagnostics(document.uri).length === 0);
  });

  it("ignored and ambiguous mentions are told with the reason", async () => {
    const { writeFileSync } = await import("node:fs");
    writeFileSync(uri("secret.txt").fsPath, "hush\n");
    const ignored = await problems(await prompt("Look at @secret.txt"), "refused");
    assert.match(ignored.message, /secret\.txt/);
  });

  it("lenses build and copy, by commands that this client has", async () => {
    const document = await prompt("How is money rounded? @#rounded");
    const lenses = await until("lenses", async () => {
      const found = await run<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri, 10);
      return found.length > 0 ? found : undefined;
    });
    const commands = lenses.map((lens) => lens.command?.command);
    assert.ok(commands.includes("promptls.openPrompt") && commands.includes("promptls.copyPrompt"), String(commands));
    assert.ok(lenses.some((lens) => /[\d,]+ of [\d,]+ tokens/.test(lens.command?.title ?? "")));
    const copy = lenses.find((lens) => lens.command?.command === "promptls.copyPrompt")!.command!;
    await vscode.env.clipboard.writeText("");
    await run(copy.command, ...(copy.arguments ?? []));
    assert.ok((await until("the copy", () => vscode.env.clipboard.readText())).includes("def rounded"));
  });

  it("inlay hints, semantic tokens and symbols stand for each mention", async () => {
    const document = await prompt("Compare @shop/cart.py and @#rounded here");
    const all = new vscode.Range(0, 0, 1, 0);
    const hints = await until("hints", async () => {
      const found = await run<vscode.InlayHint[]>("vscode.executeInlayHintProvider", document.uri, all);
      return found.length === 2 ? found : undefined;
    });
    assert.ok(hints.every((hint) => /\d+ tokens/.test(String(hint.label))));
    const tokens = await run<vscode.SemanticTokens>("vscode.provideDocumentSemanticTokens", document.uri);
    assert.equal(tokens.data.length, 10);
    const symbols = await run<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
    assert.deepEqual(symbols.map((symbol) => symbol.name), ["@shop/cart.py", "@#rounded"]);
  });

  it("follow a file that is renamed", async () => {
    const document = await prompt("Why? @checkout.ts");
    await until("the mention resolved", async () => (await run<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri, 10)).length > 0);
    await edit(document, (edits) => edits.renameFile(uri("checkout.ts"), uri("till.ts")));
    try {
      await until("the new name in the prompt document", () => document.getText() === "Why? @till.ts");
    } finally {
      await edit(document, (edits) => edits.renameFile(uri("till.ts"), uri("checkout.ts")));
    }
  });

  it("are documents of other languages too, where the user says so", async () => {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: "Why? @shop/money.py" });
    const hovers = async () => run<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, new vscode.Position(0, 8));
    assert.equal((await hovers()).length, 0);
    await withSetting("documents.languages", ["markdown"], vscode.ConfigurationTarget.Global, async () => {
      await until("a hover", async () => (await hovers()).length > 0);
    });
    await until("no hover", async () => (await hovers()).length === 0);
    await ready();
  });

  it("code documents get no language features from here", async () => {
    const editor = await show("shop/money.py");
    await edit(editor.document, (e) => e.insert(editor.document.uri, new vscode.Position(0, 0), "# @shop/cart.py\n"));
    const hovers = await run<vscode.Hover[]>("vscode.executeHoverProvider", editor.document.uri, new vscode.Position(0, 5));
    assert.equal(hovers.length, 0);
    const lenses = await run<vscode.CodeLens[]>("vscode.executeCodeLensProvider", editor.document.uri, 10);
    assert.equal(lenses.length, 0);
    assert.equal(await run("vscode.provideDocumentSemanticTokensLegend", editor.document.uri), undefined);
  });

  it("a finished prompt folds at its fences", async () => {
    const it = await ready();
    const built = await it.buildPrompt({ message: "How is money rounded? @#rounded" });
    const document = await vscode.workspace.openTextDocument({ language: "promptls-built", content: built.prompt! });
    await vscode.window.showTextDocument(document);
    const folds = await until("folds", async () => {
      const found = await run<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", document.uri);
      return found?.length ? found : undefined;
    });
    assert.ok(folds.some((fold) => document.lineAt(fold.start).text.startsWith("<context-")));
  });
});
