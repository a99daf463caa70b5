// Language model tools.  package.json declares them; its declarations are generated from the server's tools.

import type * as vscode from "vscode";
import { type ToolOptions, lm, toolResult } from "./optional_api";
import type { Server } from "./server";

/** The parts of a declaration in package.json that this extension uses. */
interface ToolDeclaration {
  name: string;
  displayName: string;
  inputSchema: { properties: Record<string, { default?: unknown }>; required: [string] };
}

/** A tool that the server runs. */
class ServerTool {
  constructor(
    private readonly declaration: ToolDeclaration,
    private readonly server: Server,
  ) {}

  prepareInvocation({ input }: ToolOptions): { invocationMessage: string } {
    const { displayName, inputSchema } = this.declaration;
    return { invocationMessage: `${displayName}: “${[input[inputSchema.required[0]]].flat().join(", ")}”` };
  }

  async invoke({ input, tokenizationOptions }: ToolOptions, token: vscode.CancellationToken): Promise<unknown> {
    const size = this.declaration.inputSchema.properties.budget_tokens;
    const limit = tokenizationOptions?.tokenBudget;
    const params = {
      name: this.declaration.name.replace("promptls_", ""),
      arguments:
        size === undefined || limit === undefined
          ? input
          : { ...input, budget_tokens: Math.min(Number(input.budget_tokens ?? size.default), Math.floor(limit)) },
    };
    return toolResult((await this.server.request<{ text: string }>("callTool", params, token)).text);
  }
}

/** Register the tools of the manifest; return an empty list if the editor has no tool API. */
export function registerTools(declarations: readonly ToolDeclaration[], server: Server): vscode.Disposable[] {
  if (lm?.registerTool === undefined) return [];
  const register = lm.registerTool.bind(lm);
  return declarations.map((declaration) => register(declaration.name, new ServerTool(declaration, server)));
}
