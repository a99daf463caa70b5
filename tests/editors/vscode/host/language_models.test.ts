// Language models of the editor: used by the server if the settings allow it, and as callers of the tools.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as vscode from "vscode";
import { waitFor, waitForIndex, withSetting } from "./helpers";

interface ToolHost {
  tools: readonly { name: string }[];
  invokeTool(name: string, options: object, token: vscode.CancellationToken): Thenable<{ content: { value: string }[] }>;
}

/** Return the requests that the fake model received. */
const modelRequests = () => {
  const file = process.env.PROMPTLS_MODEL_LOG as string;
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) : [];
};

describe("language models", () => {
  it("are not used by default", async () => {
    const api = await waitForIndex();
    await api.buildPrompt({ message: "Where is the discount given to loyal customers?" });
    assert.deepEqual(modelRequests(), []);
  });

  it("are used by the server if the setting is “editor”", async () => {
    await waitForIndex();
    await withSetting("languageModel.use", "editor", vscode.ConfigurationTarget.Global, async () => {
      await waitFor("the fake model receives a request", async () => {
        const built = await (await waitForIndex()).buildPrompt({ message: "Where do loyal people get a rebate?" });
        assert.ok(modelRequests().some((request) => request.extension === "promptls.promptls"), built.warnings.join(" "));
        return true;
      });
    });
    await waitForIndex();
  });

  it("can call the tools, which respect the token limit", async () => {
    await waitForIndex();
    const host = vscode.lm as unknown as ToolHost;
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
