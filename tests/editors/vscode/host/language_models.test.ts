// Language models of the editor: used by the server if the settings allow it, and as callers of the tools.

import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import { runningProcesses } from "../lib/processes";
import { folder, waitFor, waitForIndex, withSetting } from "./helpers";

const index = process.env.PROMPTLS_CACHE as string;

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

  it("are offered an MCP server, which answers when the editor starts it", async function () {
    this.timeout(90_000);
    await waitForIndex();
    await vscode.commands.executeCommand("workbench.mcp.startServer", "promptls.promptls/promptls");
    const [command, ...args] = await waitFor("the editor starts the server", () => runningProcesses(index, "mcp")[0]?.words, 30_000);
    assert.deepEqual(args.slice(-3), ["mcp", "--root", folder().fsPath]);
    const tools = await listMcpTools(command!, args);
    assert.deepEqual(tools, ["explain_symbol", "get_context", "read_code", "search_code"]);
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
