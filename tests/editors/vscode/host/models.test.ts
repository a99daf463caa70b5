// The editor's language models: lent to the server when the user says so, served by tools.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as vscode from "vscode";
import { ready, until, withSetting } from "./kit";

interface Tools {
  tools: readonly { name: string }[];
  invokeTool(name: string, options: object, token: vscode.CancellationToken): Thenable<{ content: { value: string }[] }>;
}

const asked = () => {
  const file = process.env.PROMPTLS_ASKED as string;
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) : [];
};

describe("language models", () => {
  it("are not asked unless the settings say so", async () => {
    const it = await ready();
    await it.buildPrompt({ message: "Where is the discount given to loyal customers?" });
    assert.deepEqual(asked(), []);
  });

  it("help the server when the settings say so", async () => {
    await ready();
    await withSetting("languageModel.use", "editor", vscode.ConfigurationTarget.Global, async () => {
      await until("a question to the editor's model", async () => {
        const built = await (await ready()).buildPrompt({ message: "Where do loyal people get a rebate?" });
        assert.ok(asked().some((one) => one.extension === "promptls.promptls"), built.warnings.join(" "));
        return true;
      });
    });
    await ready();
  });

  it("can call the tools, which keep to the tokens they are given", async () => {
    await ready();
    const host = vscode.lm as unknown as Tools;
    assert.ok(["promptls_context", "promptls_search"].every((name) => host.tools.some((tool) => tool.name === name)));
    const token = new vscode.CancellationTokenSource().token;
    const context = await host.invokeTool("promptls_context", { input: { question: "How is money rounded? @#rounded", tokens: 600 }, toolInvocationToken: undefined }, token);
    const text = context.content.map((part) => part.value).join("");
    assert.ok(text.includes("def rounded(money)") && text.length < 600 * 6, text);
    const found = await host.invokeTool("promptls_search", { input: { query: "round half up", limit: 3 }, toolInvocationToken: undefined }, token);
    const lines = found.content.map((part) => part.value).join("").split("\n");
    assert.ok(lines.length <= 3 && lines[0]!.startsWith("shop/money.py:"), lines.join("\n"));
  });
});
