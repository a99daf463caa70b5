// What newer editors offer beyond the version that this extension is built against.  Each is looked for before it
// is used; where it is missing, the feature is.

import * as vscode from "vscode";

interface ShellExecution {
  commandLine: { value: string };
  read(): AsyncIterable<string>;
}

interface ShellWindow {
  onDidStartTerminalShellExecution?: vscode.Event<{ terminal: vscode.Terminal; execution: ShellExecution }>;
  onDidEndTerminalShellExecution?: vscode.Event<{
    terminal: vscode.Terminal;
    execution: ShellExecution;
    exitCode: number | undefined;
  }>;
}

export const shell = vscode.window as ShellWindow;

export interface ToolOptions<T> {
  input: T;
  tokenizationOptions?: { tokenBudget: number };
}

interface ToolHost {
  registerTool?(
    name: string,
    tool: {
      invoke(options: ToolOptions<never>, token: vscode.CancellationToken): Promise<unknown>;
      prepareInvocation?(options: ToolOptions<never>): { invocationMessage: string };
    },
  ): vscode.Disposable;
}

/** `vscode.lm`, where there is one. */
export const lm = (vscode as { lm?: typeof vscode.lm }).lm as (typeof vscode.lm & ToolHost) | undefined;

/** `vscode.chat`, where there is one. */
export const chat = (vscode as { chat?: typeof vscode.chat }).chat;

interface ToolResults {
  LanguageModelToolResult?: new (parts: unknown[]) => unknown;
  LanguageModelTextPart?: new (text: string) => unknown;
}

/** A tool's result of one text. */
export function toolResult(text: string): unknown {
  const { LanguageModelToolResult: Result, LanguageModelTextPart: Part } = vscode as ToolResults;
  return Result === undefined || Part === undefined ? undefined : new Result([new Part(text)]);
}

/** The model that the user has chosen for a chat request. */
export function requestModel(request: vscode.ChatRequest): vscode.LanguageModelChat | undefined {
  return (request as { model?: vscode.LanguageModelChat }).model;
}
