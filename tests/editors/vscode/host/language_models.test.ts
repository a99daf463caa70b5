// Language models of the editor: used by the server if the settings allow it, and as callers of the tools.

import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import { runningProcesses } from "../lib/processes";
import { closeAllEditors, folder, openFile, waitFor, waitForIndex, withSetting } from "./helpers";

const index = process.env.PROMPTLS_CACHE as string;

const TOOLS = ["explain_symbol", "get_context", "read_code", "search_code"];

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
        const built = await (await waitForIndex()).buildPrompt({ message: "Where is the discount given to loyal customers?" });
        const { selection } = built as { selection?: { chosen: number } };
        assert.equal(selection?.chosen, 1, built.warnings.join(" "));
        assert.ok(modelRequests().some((request) => request.extension === "promptls.promptls"));
        return true;
      });
    });
    await waitForIndex();
  });

  it("get the lines that are attached in the chat", async () => {
    await waitForIndex();
    const { document } = await openFile("shop/cart.py");
    await vscode.commands.executeCommand("workbench.action.chat.open");
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(24, 0, 28, 0) });
    await vscode.commands.executeCommand("workbench.action.chat.attachSelection");
    await vscode.commands.executeCommand("workbench.action.chat.open", { query: "@promptls Why five percent?" });
    await waitFor("the model receives the question", () => JSON.stringify(modelRequests()).includes("Why five percent? @shop/cart.py:25-28"), 20_000);
    await closeAllEditors();
  });

  it("can call the tools of the server, which respect the token limit", async () => {
    await waitForIndex();
    const host = vscode.lm as unknown as ToolHost;
    const names = host.tools.map((tool) => tool.name).filter((name) => name.startsWith("promptls_"));
    assert.deepEqual(names.sort(), TOOLS.map((name) => `promptls_${name}`));
    const call = async (name: string, input: object, tokenBudget?: number) => {
      const tokenizationOptions = tokenBudget && { tokenBudget, countTokens: async (text: string) => text.length / 4 };
      const options = { input, tokenizationOptions, toolInvocationToken: undefined };
      const result = await host.invokeTool(`promptls_${name}`, options, new vscode.CancellationTokenSource().token);
      return result.content.map((part) => part.value).join("");
    };
    assert.match(await call("search_code", { query: "round half up" }), /money\.py\n[^]*function rounded/);
    assert.match(await call("read_code", { places: ["shop/money.py#rounded"] }), /def rounded\(money\)/);
    assert.match(await call("explain_symbol", { name: "rounded" }), /def rounded\(money\)/);
    assert.match(await call("get_context", { question: "How is money rounded? @#rounded" }, 600), / of 600 tokens/);
    await assert.rejects(call("read_code", { path: "shop/money.py" }), /places/);
  });

  it("are offered an MCP server, which answers when the editor starts it", async function () {
    this.timeout(90_000);
    await waitForIndex();
    await vscode.commands.executeCommand("workbench.mcp.startServer", "promptls.promptls/promptls");
    const [command, ...args] = await waitFor("the editor starts the server", () => runningProcesses(index, "mcp")[0]?.words, 30_000);
    assert.deepEqual(args.slice(-3), ["mcp", "--root", folder().fsPath]);
    const tools = await listMcpTools(command!, args);
    assert.deepEqual(tools, TOOLS);
  });
});

/** Start an MCP server, initialize it and return the names of its tools. */
async function listMcpTools(command: string, args: string[]): Promise<string[]> {
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  try {
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "test", version: "1" } } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
    ];
    for (const message of messages) server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    for await (const line of createInterface(server.stdout)) {
      const response = JSON.parse(line);
      if (response.id === 2) return response.result.tools.map((tool: { name: string }) => tool.name).sort();
    }
    throw new Error("The server exited.");
  } finally {
    server.kill();
  }
}
