// The server of the Model Context Protocol, which the editor starts for its agents.

import * as vscode from "vscode";
import { errorSentence } from "./errors";
import { type McpServer, lm, mcpServerDefinition } from "./optional_api";
import type { Server } from "./server";
import { equalJson } from "./settings";

/** ID of the provider, declared in package.json. */
const PROVIDER_ID = "promptls.mcp";

/** Offer the server to the editor; return an empty list if the editor has no such API. */
export function registerMcpServer(server: Server, version: string): vscode.Disposable[] {
  if (lm?.registerMcpServerDefinitionProvider === undefined) return [];
  const changed = new vscode.EventEmitter<void>();
  let offered = mcpServers(server, version);
  const update = () => {
    const current = mcpServers(server, version);
    if (equalJson(current, offered)) return;
    offered = current;
    changed.fire();
  };
  const listeners = [
    changed,
    server.onDidChange(update),
    vscode.workspace.onDidChangeWorkspaceFolders(update),
    vscode.workspace.onDidGrantWorkspaceTrust(update),
  ];
  try {
    const provider = lm.registerMcpServerDefinitionProvider(PROVIDER_ID, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => mcpServers(server, version).map(mcpServerDefinition),
    });
    return [provider, ...listeners];
  } catch (error) {
    // Some versions have the function for selected extensions only.
    server.log.info(`The editor does not accept MCP servers of extensions: ${errorSentence(error)}`);
    for (const listener of listeners) listener.dispose();
    return [];
  }
}

/** Return the server of the workspace folders: none in an untrusted workspace, or without an executable. */
function mcpServers(server: Server, version: string): McpServer[] {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
  const { executable } = server.locate();
  if (!vscode.workspace.isTrusted || folders.length === 0 || executable === undefined) return [];
  const cache = vscode.workspace.getConfiguration("promptls").get<string>("cache.folder", "");
  return [
    {
      label: "promptls",
      command: executable.command,
      args: ["mcp", ...folders.flatMap((folder) => ["--root", folder.uri.fsPath])],
      env: cache ? { PROMPTLS_CACHE: cache } : {},
      version,
    },
  ];
}
