// Last command of the active terminal and its output, from shell integration.  Without shell integration: the text
// selected in the terminal.

import * as vscode from "vscode";
import { shellIntegration } from "./optional_api";
import { stripTerminalCodes } from "./terminal_text";

/** Maximum number of characters kept of a command's output; the end is kept. */
const MAX_OUTPUT_CHARS = 64 * 1024;
/** How long text copied from the terminal is reused, in milliseconds, so that not every request uses the clipboard. */
const CLIPBOARD_TTL_MS = 10_000;
/** How long an empty copy is reused, in milliseconds. */
const EMPTY_CLIPBOARD_TTL_MS = 1000;

interface TerminalCommand {
  line: string;
  output: string;
  ended: boolean;
  exitCode: number | undefined;
}

export class TerminalTracker implements vscode.Disposable {
  private readonly lastCommands = new WeakMap<vscode.Terminal, TerminalCommand>();
  private copied = { at: 0, text: "" };
  private readonly listeners: vscode.Disposable[] = [];

  constructor() {
    const started = shellIntegration.onDidStartTerminalShellExecution?.((event) => {
      const line = event.execution.commandLine.value;
      const command: TerminalCommand = { line, output: "", ended: false, exitCode: undefined };
      this.lastCommands.set(event.terminal, command);
      this.copied.at = 0;
      void this.collectOutput(command, event.execution.read());
    });
    const ended = shellIntegration.onDidEndTerminalShellExecution?.((event) => {
      const command = this.lastCommands.get(event.terminal);
      if (command !== undefined) Object.assign(command, { ended: true, exitCode: event.exitCode });
    });
    for (const listener of [started, ended]) if (listener !== undefined) this.listeners.push(listener);
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  private async collectOutput(command: TerminalCommand, stream: AsyncIterable<string>): Promise<void> {
    for await (const chunk of stream) command.output = (command.output + chunk).slice(-MAX_OUTPUT_CHARS);
  }

  /** Return the last command and its output; undefined if there is none. */
  async lastOutput(): Promise<string | undefined> {
    const terminal = vscode.window.activeTerminal;
    if (terminal === undefined) return undefined;
    const command = this.lastCommands.get(terminal);
    const streamed = stripTerminalCodes(command?.output ?? "").trimEnd();
    // The stream can miss the output of a short command; the terminal's copy commands return it.
    const missed = command === undefined || (command.ended && !streamed);
    const output = missed ? (await this.copiedOutput()).trimEnd() : streamed;
    if (command === undefined) return output || undefined;
    const failure = command.exitCode ? `\n(exit code ${command.exitCode})` : "";
    return `$ ${command.line}\n${output}${failure}`;
  }

  private async copiedOutput(): Promise<string> {
    if (Date.now() - this.copied.at > CLIPBOARD_TTL_MS) {
      const text = (await copyFromTerminal("copyLastCommandOutput")) || (await copyFromTerminal("copySelection"));
      const at = text ? Date.now() : Date.now() - CLIPBOARD_TTL_MS + EMPTY_CLIPBOARD_TTL_MS;
      this.copied = { at, text: stripTerminalCodes(text) };
    }
    return this.copied.text;
  }
}

/** Run a copy command of the terminal and return the copied text.  The content of the clipboard is restored. */
async function copyFromTerminal(command: "copyLastCommandOutput" | "copySelection"): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  let text = "";
  try {
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand(`workbench.action.terminal.${command}`);
    text = await vscode.env.clipboard.readText();
  } finally {
    // Do not overwrite text that the user copied in the meantime.
    if ((await vscode.env.clipboard.readText()) === text) await vscode.env.clipboard.writeText(before);
  }
  return text;
}
