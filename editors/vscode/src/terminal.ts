// The last command of the active terminal with its output, where the shell tells when a command begins and ends;
// elsewhere what is selected in it.

import * as vscode from "vscode";
import { shell } from "./newer";
import { plainText } from "./plain";

const KEPT = 64 * 1024;
const CLIPBOARD_MS = 10_000;
const EMPTY_MS = 1000;

interface Command {
  line: string;
  output: string;
  ended: boolean;
  exitCode: number | undefined;
}

export class Terminals implements vscode.Disposable {
  private readonly last = new WeakMap<vscode.Terminal, Command>();
  /** What was had through the clipboard, so that it is not touched at every question. */
  private copied = { at: 0, text: "" };
  private readonly listeners: vscode.Disposable[] = [];

  constructor() {
    const started = shell.onDidStartTerminalShellExecution?.((event) => {
      const command: Command = { line: event.execution.commandLine.value, output: "", ended: false, exitCode: undefined };
      this.last.set(event.terminal, command);
      this.copied.at = 0;
      void this.follow(command, event.execution.read());
    });
    const ended = shell.onDidEndTerminalShellExecution?.((event) => {
      const command = this.last.get(event.terminal);
      if (command !== undefined) Object.assign(command, { ended: true, exitCode: event.exitCode });
    });
    for (const listener of [started, ended]) if (listener !== undefined) this.listeners.push(listener);
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  private async follow(command: Command, stream: AsyncIterable<string>): Promise<void> {
    for await (const chunk of stream) command.output = (command.output + chunk).slice(-KEPT);
  }

  async lastOutput(): Promise<string | undefined> {
    const terminal = vscode.window.activeTerminal;
    if (terminal === undefined) return undefined;
    const command = this.last.get(terminal);
    // The stream misses what a quick command writes at once; the terminal itself knows better.
    const streamed = plainText(command?.output ?? "").trimEnd();
    const missed = command === undefined || (command.ended && !streamed);
    const output = missed ? (await this.throughClipboard()).trimEnd() : streamed;
    if (command === undefined) return output || undefined;
    const failed = command.exitCode ? `\n(exit code ${command.exitCode})` : "";
    return `$ ${command.line}\n${output}${failed}`;
  }

  private async throughClipboard(): Promise<string> {
    if (Date.now() - this.copied.at > CLIPBOARD_MS) {
      const text = (await copy("copyLastCommandOutput")) || (await copy("copySelection"));
      this.copied = { at: text ? Date.now() : Date.now() - CLIPBOARD_MS + EMPTY_MS, text: plainText(text) };
    }
    return this.copied.text;
  }
}

/** What a command of the terminal copies.  There is no other way to it; the clipboard gets its content back. */
async function copy(command: "copyLastCommandOutput" | "copySelection"): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  let text = "";
  try {
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand(`workbench.action.terminal.${command}`);
    text = await vscode.env.clipboard.readText();
  } finally {
    // Unless the user has copied something in that moment.
    if ((await vscode.env.clipboard.readText()) === text) await vscode.env.clipboard.writeText(before);
  }
  return text;
}
