// Entry point: creates the services of the extension and registers its commands.

import * as vscode from "vscode";
import { registerChatParticipant } from "./chat_participant";
import { ClientContextProvider } from "./client_context";
import { completeMentionAfterStart } from "./completion";
import { runDoctor } from "./doctor";
import { explainIgnore } from "./explain_ignore";
import { explainAtCursor, showCallPaths, showGraph } from "./info_pages";
import { registerTools } from "./language_model_tools";
import { registerMcpServer } from "./mcp_server";
import { addMemoryEntry, showMemory } from "./memory";
import { withErrorNotification } from "./notifications";
import { locationHighlight } from "./open_location";
import { Pages, pageLine } from "./pages";
import { PromptBuilder } from "./prompt_builder";
import type { BuildParams, BuildResult, Status } from "./protocol";
import { askByRecipe } from "./recipes";
import { showSearch } from "./search";
import { Server } from "./server";
import { serverSettings } from "./settings";
import { StatusBarItem, showStatusMenu } from "./status_bar";

/** API for other extensions. */
export interface Api {
  /** Build a prompt; the default context is the current state of the editor. */
  buildPrompt(params: BuildParams, token?: vscode.CancellationToken): Promise<BuildResult>;
  /** Send a request `promptls/<method>`, such as "search", "graph" or "explain". */
  request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R>;
  /** Return the state of the server process and of the index. */
  status(): { state: string; problem: string; command: string | undefined; index: Status | undefined };
}

/** The server, for `deactivate`. */
let activeServer: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("promptls", { log: true });
  const manifest = context.extension.packageJSON;
  const clientContext = new ClientContextProvider(vscode.Uri.joinPath(context.globalStorageUri, "../.."));
  const server = new Server(context, clientContext, log, serverSettings(manifest));
  activeServer = server;
  const pages = new Pages(server);
  const prompts = new PromptBuilder(server, clientContext, pages);
  const icon = vscode.Uri.joinPath(context.extensionUri, "images", "icon.png");

  const commands: Record<string, (argument?: unknown) => unknown> = {
    ask: () => prompts.ask(),
    askSelection: () => prompts.ask(),
    newPrompt: () => prompts.newPrompt(),
    openPrompt: (argument) => prompts.openPrompt(argument),
    copyPrompt: (argument) => prompts.copyPrompt(argument),
    answer: (argument) => prompts.answer(argument),
    setBudget: (argument) => pages.setBudget(argument),
    pageAction: (argument) => pages.act(argument as Parameters<Pages["act"]>[0]),
    pinItem: (argument) => pages.act({ ...pageLine(argument), action: "pin" }),
    dropItem: (argument) => pages.act({ ...pageLine(argument), action: "drop" }),
    showRelated: (argument) => pages.act({ ...pageLine(argument), action: "more" }),
    openPlace: (argument) => pages.openPlace(argument),
    copyPage: (argument) => pages.copy(argument),
    sendPage: (argument) => pages.sendToChat(argument),
    openPageAsDocument: (argument) => pages.openAsDocument(argument),
    rebuildPage: (argument) => pages.act({ ...pageLine(argument), action: "rebuild" }),
    recipe: () => askByRecipe(server, prompts),
    search: () => showSearch(server),
    explain: () => explainAtCursor(pages),
    graph: () => showGraph(pages),
    callPaths: () => showCallPaths(pages),
    mentions: () => pages.open("mentionKinds", {}, "listing the mention kinds"),
    remember: () => addMemoryEntry(server),
    memory: () => showMemory(server),
    explainIgnore: (argument) => explainIgnore(server, argument),
    reindex: () => server.request("reindex", { full: false }),
    status: () => showStatusMenu(server),
    showStatus: () => pages.open("status", {}, "reading the status"),
    install: () => server.install(),
    restart: () => server.restart("requested by the user"),
    showLog: () => log.show(),
    doctor: () => runDoctor(server, String(manifest.version), context.globalStorageUri.fsPath),
  };
  context.subscriptions.push(
    log,
    clientContext,
    server,
    pages,
    locationHighlight,
    new StatusBarItem(server),
    completeMentionAfterStart(server),
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`promptls.${name}`, withErrorNotification(run)),
    ),
    ...registerChatParticipant(prompts, clientContext, icon),
    ...registerTools(manifest.contributes.languageModelTools, server),
    ...registerMcpServer(server, String(manifest.version)),
  );
  // Without a workspace there is nothing to index, and the server starts with the first request.
  if (vscode.workspace.workspaceFolders?.length) {
    void server.start().then(() => server.offerInstallOnce());
  }
  return {
    buildPrompt: (params, token) => prompts.build(params, token),
    request: (method, params, token) => server.request(method, params, token),
    status: () => ({
      state: server.state,
      problem: server.problem,
      command: server.executable?.command,
      index: server.status,
    }),
  };
}

export async function deactivate(): Promise<void> {
  await activeServer?.stop();
}
