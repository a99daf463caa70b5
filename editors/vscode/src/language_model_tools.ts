// Language model tools: context for a question, and search.

import type * as vscode from "vscode";
import { formatLocation, hitLabel } from "./format";
import { type ToolOptions, lm, toolResult } from "./optional_api";
import { promptText } from "./preview/preview_page";
import type { PromptBuilder } from "./prompt_builder";
import type { SearchResult } from "./protocol";
import type { Server } from "./server";

const DEFAULT_SEARCH_LIMIT = 20;

/** Register the tools; return an empty list if the editor has no tool API. */
export function registerTools(prompts: PromptBuilder, server: Server): vscode.Disposable[] {
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
      const params = { query: input.query, limit: input.limit ?? DEFAULT_SEARCH_LIMIT };
      const { hits } = await server.request<SearchResult>("search", params, token);
      const lines = hits.map(
        (hit) => `${formatLocation(hit.path, hit.range)} ${hit.symbol ?? ""} (${hitLabel(hit).detail})`,
      );
      return toolResult(lines.join("\n") || "No results.");
    },
  });
  return [context, search];
}
