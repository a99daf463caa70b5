// What is installed and what is wrong: where the server was looked for, and what its own doctor says.

import * as vscode from "vscode";
import { sentence } from "./errors";
import { run } from "./process";
import { patiently } from "./say";
import type { Server } from "./server";

export async function doctor(server: Server, version: string, cwd: string): Promise<void> {
  const lines = [
    `promptls extension ${version}, ${vscode.env.appName} ${vscode.version}`,
    `workspace: ${vscode.workspace.isTrusted ? "trusted" : "not trusted, so its environments and settings are not used"}`,
    `server: ${server.life}${server.problem ? `. ${server.problem}` : ""}`,
    ...(server.found === undefined
      ? ["looked for the server in:", ...server.looked.map((place) => `  ${place}`)]
      : [`program: ${server.found.command} (${server.found.origin})`]),
    "",
  ];
  const { found } = server;
  if (found !== undefined) {
    try {
      const ran = await patiently("examining the server", (token) => run(found.command, ["doctor"], { token, cwd }));
      lines.push(ran.output);
    } catch (error) {
      lines.push(`promptls doctor cannot be run: ${sentence(error)}`);
    }
  }
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content: lines.join("\n") });
  await vscode.window.showTextDocument(document);
}
