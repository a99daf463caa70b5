// Tools that the editor's language models can call: the code for a question, and where to look.

import type * as vscode from "vscode";
import { hitLabel, where } from "./format";
import { type ToolOptions, lm, toolResult } from "./newer";
import { promptText } from "./preview/render";
import type { Prompts } from "./prompts";
import type { Hits } from "./protocol";
import type { Server } from "./server";

const SEARCH_LIMIT = 20;

export function registerTools(prompts: Prompts, server: Server): vscode.Disposable[] {
  if (lm?.registerTool === undefined) return [];
  const context = lm.registerTool("promptls_context", {
    prepareInvocation: ({ input }: ToolOptions<{ question: string }>) => ({
      invocationMessage: `Gathering code for “${input.question}”`,
    }),
    async invoke(options: ToolOptions<{ question: string; tokens?: number }>, token) {
      const limits = [options.input.tokens, options.tokenizationOptions?.tokenBudget].filter((n) => n !== undefined);
      const budget = limits.length > 0 ? { budget: { tokens: Math.min(...limits) } } : {};
      return toolResult(promptText(await prompts.build({ message: options.input.question, ...budget }, token)));
    },
  });
  const search = lm.registerTool("promptls_search", {
    prepareInvocation: ({ input }: ToolOptions<{ query: string }>) => ({
      invocationMessage: `Searching for “${input.query}”`,
    }),
    async invoke({ input }: ToolOptions<{ query: string; limit?: number }>, token) {
      const params = { query: input.query, limit: input.limit ?? SEARCH_LIMIT };
      const { hits } = await server.request<Hits>("search", params, token);
      const lines = hits.map((hit) => `${where(hit.path, hit.range)} ${hit.symbol ?? ""} (${hitLabel(hit).detail})`);
      return toolResult(lines.join("\n") || "Nothing was found.");
    },
  });
  return [context, search];
}
