// Language client: document synchronization, language features of prompt documents, and requests of the server.

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
import { provideCompletionItem } from "./completion";
import { PAGE_SCHEME, SYNC_SELECTOR, additionalPromptLanguages, isSynchronized, promptSelector } from "./documents";
import { errorSentence } from "./errors";
import { provideHover } from "./hover";
import { showMessage } from "./notifications";
import { provideDocumentLinks } from "./pages";
import type { Context, Status } from "./protocol";
import type { NestedSettings } from "./settings";

export interface ClientOptions {
  command: string;
  /** Working directory of the server; not a workspace, because Python imports modules from the working directory. */
  cwd: string;
  log: vscode.LogOutputChannel;
  userSettings: NestedSettings;
  workspaceSettings(): NestedSettings;
  clientContext(kinds: readonly string[]): Promise<Context>;
  /** Handler of `promptls/complete`; undefined if the editor has no models. */
  complete: CompleteHandler | undefined;
  onStatusChanged(status: Status): void;
  onPageChanged(uri: string): void;
  errorHandler: ErrorHandler;
}

export interface CompleteParams {
  messages: { role: string; content: string }[];
  maxTokens: number;
}

export type CompleteHandler = (params: CompleteParams, token: vscode.CancellationToken) => Promise<{ text: string }>;

/** Create the client of one server process and register its handlers. */
export function createClient(options: ClientOptions): LanguageClient {
  const additionalLanguages = additionalPromptLanguages();
  const clientOptions: LanguageClientOptions = {
    documentSelector: SYNC_SELECTOR,
    initializationOptions: options.userSettings,
    outputChannel: options.log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    errorHandler: options.errorHandler,
    initializationFailedHandler: (error) => {
      options.log.error(errorSentence(error));
      return false;
    },
    middleware: {
      ...synchronizationMiddleware((document) => client.open(document)),
      provideCompletionItem,
      provideDocumentLinks,
      provideHover,
      workspace: {
        configuration: (params) =>
          params.items.map((item) => (item.section === "promptls" ? options.workspaceSettings() : null)),
      },
    },
  };
  const run = {
    command: options.command,
    args: ["serve"],
    transport: TransportKind.stdio,
    options: { cwd: options.cwd },
  };
  const client: PromptLanguageClient = new PromptLanguageClient("promptls", "promptls", run, clientOptions);
  client.featureSelector = promptSelector(additionalLanguages);
  client.registerFeature(
    capabilitiesFeature((capabilities) => {
      const promptls = { clientContext: true, complete: options.complete !== undefined, userSettings: true };
      capabilities.experimental = { ...(capabilities.experimental as object | undefined), promptls };
      // Of LSP 3.18, which this version of the library does not have.
      const textDocumentContent = { dynamicRegistration: false };
      capabilities.workspace = Object.assign(capabilities.workspace ?? {}, { textDocumentContent });
    }),
  );
  client.registerFeature(synchronizationOfShownDocuments(client));
  client.onNotification("promptls/statusChanged", (status: Status) => options.onStatusChanged(status));
  client.onNotification("window/showMessage", ({ type, message }: { type: number; message: string }) => {
    void showMessage(type === 1 ? "Error" : type === 2 ? "Warning" : "Information", message);
  });
  client.onRequest("workspace/textDocumentContent/refresh", ({ uri }: { uri: string }) => {
    options.onPageChanged(uri);
    return null;
  });
  client.onRequest("promptls/clientContext", (params: { kinds?: string[] }) => options.clientContext(params.kinds ?? []));
  const complete = options.complete;
  if (complete !== undefined) {
    client.onRequest("promptls/complete", async (params: CompleteParams, token: vscode.CancellationToken) => {
      try {
        return await complete(params, token);
      } catch (error) {
        options.log.warn(`The request to the editor's language model failed: ${errorSentence(error)}`);
        throw error;
      }
    });
  }
  return client;
}

/**
 * Forward only documents for which `isSynchronized` is true.
 *
 * A document for which it becomes true is opened on the server when an editor shows it, or at its next edit.
 */
function synchronizationMiddleware(openDocument: (document: vscode.TextDocument) => Promise<void>): Middleware {
  const openUris = new Set<string>();
  return {
    didOpen: async (document, next) => {
      if (openUris.has(document.uri.toString()) || !isSynchronized(document)) return;
      openUris.add(document.uri.toString());
      await next(document);
    },
    didChange: async (event, next) => {
      if (openUris.has(event.document.uri.toString())) await next(event);
      else await openDocument(event.document);
    },
    didSave: async (document, next) => {
      if (openUris.has(document.uri.toString())) await next(document);
    },
    didClose: async (document, next) => {
      if (openUris.delete(document.uri.toString())) await next(document);
    },
  };
}

const SYNC_METHODS = ["didOpen", "didChange", "didSave", "didClose", "willSave", "willSaveWaitUntil"];

/** Language features of pages.  With definitions, a Ctrl+click on a link would do two things. */
const PAGE_METHODS = ["documentLink", "foldingRange"];

/** A language client that synchronizes all documents of its selector; language features are for prompts and pages only. */
class PromptLanguageClient extends LanguageClient {
  featureSelector: DocumentFilter[] = [];

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = "registrationType" in feature ? feature.registrationType.method : "";
    // The extension registers the commands itself, under the same names.
    if (method === "workspace/executeCommand") return;
    const [namespace, name = ""] = method.split("/");
    if (namespace === "textDocument" && !SYNC_METHODS.includes(name)) {
      const initialize = feature.initialize.bind(feature) as (c: ServerCapabilities, s: DocumentFilter[]) => void;
      const pages = PAGE_METHODS.includes(name) ? [{ scheme: PAGE_SCHEME }] : [];
      feature.initialize = (capabilities: ServerCapabilities) =>
        initialize(capabilities, [...this.featureSelector, ...pages]);
    }
    super.registerFeature(feature);
  }

  /** Write errors to the log only; `server.ts` notifies the user. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** Open a document on the server, unless it is open or not synchronized. */
  async open(document: vscode.TextDocument): Promise<void> {
    await this.getFeature("textDocument/didOpen").getProvider(document)?.send(document);
  }

  /** Close a document on the server, unless it is not open. */
  async close(document: vscode.TextDocument): Promise<void> {
    await this.getFeature("textDocument/didClose").getProvider(document)?.send(document);
  }
}

/** Open documents on the server as soon as an editor shows them, and close them when no editor does. */
function synchronizationOfShownDocuments(client: PromptLanguageClient): StaticFeature {
  const listeners: vscode.Disposable[] = [];
  const update = () => {
    for (const document of vscode.workspace.textDocuments) {
      void (isSynchronized(document) ? client.open(document) : client.close(document));
    }
  };
  return {
    fillClientCapabilities(): void {},
    initialize(): void {
      listeners.push(vscode.window.onDidChangeVisibleTextEditors(update), vscode.window.tabGroups.onDidChangeTabs(update));
    },
    getState: () => ({ kind: "static" }),
    clear(): void {
      for (const listener of listeners.splice(0)) listener.dispose();
    },
  };
}

function capabilitiesFeature(fillClientCapabilities: (capabilities: ClientCapabilities) => void): StaticFeature {
  return {
    fillClientCapabilities,
    initialize(): void {},
    getState: () => ({ kind: "static" }),
    clear(): void {},
  };
}
