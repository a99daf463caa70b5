// VS Code APIs that are newer than the minimum version of this extension.  Callers check that an API is defined; the
// feature is unavailable otherwise.

import * as vscode from "vscode";

interface ShellExecution {
  commandLine: { value: string };
  read(): AsyncIterable<string>;
}

interface ShellExecutionEvents {
  onDidStartTerminalShellExecution?: vscode.Event<{ terminal: vscode.Terminal; execution: ShellExecution }>;
  onDidEndTerminalShellExecution?: vscode.Event<{
    terminal: vscode.Terminal;
    execution: ShellExecution;
    exitCode: number | undefined;
  }>;
}

/** Events of the terminal's shell integration. */
export const shellIntegration = vscode.window as ShellExecutionEvents;

export interface ToolOptions {
  input: Record<string, unknown>;
  tokenizationOptions?: { tokenBudget: number };
}

interface ToolRegistry {
  registerTool?(
    name: string,
    tool: {
      invoke(options: ToolOptions, token: vscode.CancellationToken): Promise<unknown>;
      prepareInvocation?(options: ToolOptions): { invocationMessage: string };
    },
  ): vscode.Disposable;
}

/** A server of the Model Context Protocol that the editor starts. */
export interface McpServer {
  label: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  version: string;
}

interface McpServerRegistry {
  registerMcpServerDefinitionProvider?(
    id: string,
    provider: { onDidChangeMcpServerDefinitions: vscode.Event<void>; provideMcpServerDefinitions(): unknown[] },
  ): vscode.Disposable;
}

/** `vscode.lm`, if available. */
export const lm = (vscode as { lm?: typeof vscode.lm }).lm as
  | (typeof vscode.lm & ToolRegistry & McpServerRegistry)
  | undefined;

interface McpClasses {
  McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => unknown;
}

/** Return the editor's definition of a server; undefined if the editor does not know such servers. */
export function mcpServerDefinition({ label, command, args, env, version }: McpServer): unknown {
  const { McpStdioServerDefinition: Definition } = vscode as McpClasses;
  return Definition === undefined ? undefined : new Definition(label, command, args, env, version);
}

/** `vscode.chat`, if available. */
export const chat = (vscode as { chat?: typeof vscode.chat }).chat;

interface ToolResultClasses {
  LanguageModelToolResult?: new (parts: unknown[]) => unknown;
  LanguageModelTextPart?: new (text: string) => unknown;
}

/** Create a tool result with one text part. */
export function toolResult(text: string): unknown {
  const { LanguageModelToolResult: Result, LanguageModelTextPart: Part } = vscode as ToolResultClasses;
  return Result === undefined || Part === undefined ? undefined : new Result([new Part(text)]);
}

/** Return the model that the user selected for a chat request. */
export function requestModel(request: vscode.ChatRequest): vscode.LanguageModelChat | undefined {
  return (request as { model?: vscode.LanguageModelChat }).model;
}
