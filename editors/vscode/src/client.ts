// One connection to the server: what is sent, what is answered, and which documents get language features.

import * as vscode from "vscode";
import type { DocumentFilter, DynamicFeature, ServerCapabilities, StaticFeature } from "vscode-languageclient/node";
import {
  type ClientCapabilities,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  TransportKind,
} from "vscode-languageclient/node";
import { isSent, optedLanguages, promptSelector, sentSelector } from "./documents";
import { sentence } from "./errors";
import type { Context, Status } from "./protocol";
import type { Nested } from "./settings";

export interface Connection {
  command: string;
  /** Where the server runs: no workspace, because Python looks for modules where it stands. */
  cwd: string;
  log: vscode.LogOutputChannel;
  ownSettings: Nested;
  workspaceSettings(): Nested;
  clientContext(kinds: readonly string[]): Promise<Context>;
  /** Answers `promptls/complete`; undefined: the user does not allow it, or there is no model. */
  complete: ((params: CompleteParams, token: vscode.CancellationToken) => Promise<{ text: string }>) | undefined;
  statusChanged(status: Status): void;
  errorHandler: ErrorHandler;
}

export interface CompleteParams {
  messages: { role: string; content: string }[];
  maxTokens: number;
}

export function createClient(to: Connection): LanguageClient {
  const opted = optedLanguages();
  const options: LanguageClientOptions = {
    documentSelector: sentSelector(opted),
    initializationOptions: to.ownSettings,
    outputChannel: to.log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    errorHandler: to.errorHandler,
    initializationFailedHandler: (error) => {
      to.log.error(sentence(error));
      return false;
    },
    middleware: {
      ...onlyWhatIsSent((document) => client.open(document)),
      workspace: {
        configuration: (params) =>
          params.items.map((item) => (item.section === "promptls" ? to.workspaceSettings() : null)),
      },
    },
  };
  const run = { command: to.command, args: ["serve"], transport: TransportKind.stdio, options: { cwd: to.cwd } };
  const client: PromptClient = new PromptClient("promptls", "promptls", run, options);
  client.languages = promptSelector(opted);
  client.registerFeature(capabilities({ clientContext: true, complete: to.complete !== undefined }));
  client.onNotification("promptls/statusChanged", (status: Status) => to.statusChanged(status));
  client.onRequest("promptls/clientContext", (params: { kinds?: string[] }) => to.clientContext(params.kinds ?? []));
  const complete = to.complete;
  if (complete !== undefined) {
    client.onRequest("promptls/complete", async (params: CompleteParams, token: vscode.CancellationToken) => {
      try {
        return await complete(params, token);
      } catch (error) {
        to.log.warn(`The editor's language model gave no answer: ${sentence(error)}`);
        throw error;
      }
    });
  }
  return client;
}

/** A document that came into the workspace while it was open is opened for the server at its next edit. */
function onlyWhatIsSent(openNow: (document: vscode.TextDocument) => Promise<void>): Middleware {
  const open = new Set<string>();
  return {
    didOpen: async (document, next) => {
      if (!isSent(document)) return;
      open.add(document.uri.toString());
      await next(document);
    },
    didChange: async (event, next) => {
      if (open.has(event.document.uri.toString())) await next(event);
      else await openNow(event.document);
    },
    didSave: async (document, next) => {
      if (open.has(document.uri.toString())) await next(document);
    },
    didClose: async (document, next) => {
      if (open.delete(document.uri.toString())) await next(document);
    },
  };
}

const SYNC = ["didOpen", "didChange", "didSave", "didClose", "willSave", "willSaveWaitUntil"];

/** A client that gives language features to prompt documents only, though it tells the server of all others too. */
class PromptClient extends LanguageClient {
  languages: DocumentFilter[] = [];

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = "registrationType" in feature ? feature.registrationType.method : "";
    // The extension has commands of these names itself.
    if (method === "workspace/executeCommand") return;
    const [room, name = ""] = method.split("/");
    if (room === "textDocument" && !SYNC.includes(name)) {
      const initialize = feature.initialize.bind(feature) as (c: ServerCapabilities, s: DocumentFilter[]) => void;
      feature.initialize = (c: ServerCapabilities) => initialize(c, this.languages);
    }
    super.registerFeature(feature);
  }

  /** To the log only: what the user has to know, `server.ts` says once and in plain words. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  async open(document: vscode.TextDocument): Promise<void> {
    await this.getFeature("textDocument/didOpen").getProvider(document)?.send(document);
  }
}

function capabilities(promptls: { clientContext: boolean; complete: boolean }): StaticFeature {
  return {
    fillClientCapabilities(to: ClientCapabilities): void {
      to.experimental = { ...(to.experimental as object | undefined), promptls };
    },
    initialize(): void {},
    getState: () => ({ kind: "static" }),
    clear(): void {},
  };
}
