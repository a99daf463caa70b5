// What the extension is made of, put together.

import * as vscode from "vscode";
import { registerChat } from "./chat";
import { Surroundings } from "./context";
import { doctor } from "./doctor";
import { Pages } from "./graph";
import { explainIgnore } from "./ignore";
import { remember, showMemory } from "./memory";
import { Preview } from "./preview/preview";
import { Prompts } from "./prompts";
import type { BuildParams, Built, Status } from "./protocol";
import { askByRecipe } from "./recipes";
import { guarded } from "./say";
import { search } from "./search";
import { Server } from "./server";
import { declared } from "./settings";
import { StatusItem, statusMenu } from "./status";
import { registerTools } from "./tool";
import { openings } from "./view/open";

/** What other extensions can use. */
export interface Api {
  /** The prompt for a question, with what the editor knows. */
  buildPrompt(params: BuildParams, token?: vscode.CancellationToken): Promise<Built>;
  /** Any request of the server's: "search", "graph", "explain" and so on. */
  request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R>;
  status(): { life: string; problem: string; command: string | undefined; index: Status | undefined };
}

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("promptls", { log: true });
  const manifest = context.extension.packageJSON;
  const surroundings = new Surroundings();
  const own = (server = new Server(context, surroundings, log, declared(manifest)));
  const preview = new Preview(context.extensionUri);
  const prompts = new Prompts(own, surroundings, preview);
  const pages = new Pages(context.extensionUri, own);
  const icon = vscode.Uri.joinPath(context.extensionUri, "images", "icon.png");

  const commands: Record<string, (argument?: unknown) => unknown> = {
    ask: () => prompts.ask(),
    askSelection: () => prompts.askSelection(),
    newPrompt: () => prompts.newPrompt(),
    openPrompt: (argument) => prompts.openPrompt(argument),
    copyPrompt: (argument) => prompts.copyPrompt(argument),
    recipe: () => askByRecipe(own, prompts),
    search: () => search(own),
    explain: () => pages.explain(),
    graph: () => pages.graph(),
    callPaths: () => pages.callPaths(),
    mentions: () => pages.mentionKinds(),
    remember: () => remember(own),
    memory: () => showMemory(own),
    explainIgnore: (argument) => explainIgnore(own, argument),
    reindex: () => own.request("reindex", { full: false }),
    status: () => statusMenu(own),
    install: () => own.install(),
    restart: () => own.restart("the user asked for it"),
    showLog: () => log.show(),
    doctor: () => doctor(own, String(manifest.version), context.globalStorageUri.fsPath),
  };
  context.subscriptions.push(
    log,
    surroundings,
    own,
    preview,
    pages,
    openings,
    new StatusItem(own),
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`promptls.${name}`, guarded(run))),
    ...registerChat(prompts, surroundings, icon),
    ...registerTools(prompts, own),
  );
  // Without a workspace there is nothing to index; then the server starts when it is needed first.
  if (vscode.workspace.workspaceFolders?.length) {
    void own.start().then(() => own.offerOnce());
  }
  return {
    buildPrompt: (params, token) => prompts.build(params, token),
    request: (method, params, token) => own.request(method, params, token),
    status: () => ({ life: own.life, problem: own.problem, command: own.found?.command, index: own.status }),
  };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
