// Command “Run Doctor”: a report about the extension, the server executable and the output of `promptls doctor`.

import * as vscode from "vscode";
import { errorSentence } from "./errors";
import { withDelayedProgress } from "./notifications";
import { runProcess } from "./process";
import type { Server } from "./server";

/** Open the report as a document. */
export async function runDoctor(server: Server, version: string, cwd: string): Promise<void> {
  const { executable } = server;
  const lines = [
    `promptls extension ${version}, ${vscode.env.appName} ${vscode.version}`,
    `workspace: ${vscode.workspace.isTrusted ? "trusted" : "not trusted; its environments and settings are ignored"}`,
    `server: ${server.state}${server.problem ? `. ${server.problem}` : ""}`,
    ...(executable === undefined
      ? ["searched for the server in:", ...server.searched.map((location) => `  ${location}`)]
      : [`executable: ${executable.command} (${executable.origin})`]),
    "",
  ];
  if (executable !== undefined) {
    try {
      const result = await withDelayedProgress("running promptls doctor", (token) =>
        runProcess(executable.command, ["doctor"], { token, cwd }),
      );
      lines.push(result.output);
    } catch (error) {
      lines.push(`Cannot run promptls doctor: ${errorSentence(error)}`);
    }
  }
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content: lines.join("\n") });
  await vscode.window.showTextDocument(document);
}
