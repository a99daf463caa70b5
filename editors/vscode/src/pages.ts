// Pages: results that the server renders as read-only Markdown documents.  Their text, the actions of their lines, and
// copying, sending and opening of the prompts that they show.

import * as vscode from "vscode";
import type { DocumentLinkMiddleware } from "vscode-languageclient/node";
import { BUILT_PROMPT_LANGUAGE, PAGE_SCHEME, isPromptDocument } from "./documents";
import { UserError } from "./errors";
import { missingMentions, pluralize, promptText } from "./format";
import { showMessage, withDelayedProgress } from "./notifications";
import { openLocation } from "./open_location";
import { chat } from "./optional_api";
import type { BuildParams, BuildResult, Location, OpenedPage } from "./protocol";
import type { Server } from "./server";

const OPEN_CHAT_COMMAND = "workbench.action.chat.open";
const BUILD_PROGRESS = "building the prompt";
const STATUS_MESSAGE_MS = 5000;

/** A line of a page. */
interface PageLine {
  uri: string;
  line: number;
}

/** Params of `promptls/pageAction`. */
interface PageAction extends PageLine {
  action: string;
  tokens?: number;
}

export interface PromptOptions {
  /** Whether a rebuild takes the current text of the prompt document. */
  followsDocument?: boolean;
  /** Return the question, if the chat participant builds the same prompt from it. */
  question?(): string;
}

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changeEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changeEmitter.event;
  /** URIs of the last page of a prompt and of the last other page; the next page takes its place. */
  private readonly lastUris = new Map<"prompt" | "other", string>();
  /** Questions of the pages of prompts; undefined if the chat participant would build another prompt. */
  private readonly questions = new Map<string, (() => string) | undefined>();
  /** Lines that the cursor goes to when the text of a page has changed. */
  private readonly cursorLines = new Map<string, number>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.listeners = [
      this.changeEmitter,
      server.onDidChangePage((uri) => this.changeEmitter.fire(vscode.Uri.parse(uri))),
      vscode.workspace.registerTextDocumentContentProvider(PAGE_SCHEME, this),
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (document.uri.scheme !== PAGE_SCHEME || document.languageId === BUILT_PROMPT_LANGUAGE) return;
        // In a Markdown document, VS Code follows links to commands, and a page quotes files.
        void vscode.languages.setTextDocumentLanguage(document, BUILT_PROMPT_LANGUAGE);
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme !== PAGE_SCHEME) return;
        this.moveCursor(document.uri.toString());
        this.cursorLines.delete(document.uri.toString());
      }),
    ];
    // Pages end with the server, so those of an earlier session have no text.
    void vscode.window.tabGroups.close(pageTabs());
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const method = "workspace/textDocumentContent";
    return (await this.server.request<{ text: string }>(method, { uri: uri.toString() })).text;
  }

  /** Build a prompt and show its page. */
  async openPrompt(params: BuildParams, { followsDocument = false, question }: PromptOptions = {}): Promise<void> {
    const { uri, result } = await withDelayedProgress(BUILD_PROGRESS, (token) =>
      this.server.request<OpenedPage<BuildResult>>("openPage", { kind: "prompt", params, followsDocument }, token),
    );
    this.questions.set(vscode.Uri.parse(uri).toString(), question);
    await vscode.commands.executeCommand("setContext", "promptls.promptPages", [...this.questions.keys()]);
    await this.show(uri, "prompt");
    reportMissingMentions(result);
  }

  /** Show the page of another request. */
  async open(kind: string, params: object, progress: string): Promise<void> {
    const { uri } = await withDelayedProgress(progress, (token) =>
      this.server.request<OpenedPage<unknown>>("openPage", { kind, params }, token),
    );
    await this.show(uri, "other");
  }

  private async show(uri: string, kind: "prompt" | "other"): Promise<void> {
    const previousTabs = () => pageTabs().filter((tab) => uriOf(tab) === this.lastUris.get(kind));
    const viewColumn = (previousTabs()[0] ?? pageTabs()[0])?.group.viewColumn ?? vscode.ViewColumn.Beside;
    const page = vscode.Uri.parse(uri);
    this.changeEmitter.fire(page); // the URI may be that of a page of a server that has exited
    await vscode.window.showTextDocument(page, { viewColumn, preview: false });
    if (this.lastUris.get(kind) !== page.toString()) await vscode.window.tabGroups.close(previousTabs(), true);
    this.lastUris.set(kind, page.toString());
  }

  /** Pin, drop or add the item of a line, or build the prompt of a page again. */
  async act(action: PageAction): Promise<void> {
    const params = { ...action, uri: vscode.Uri.parse(action.uri).toString() }; // a command link decodes the URI
    const { line, changed } = await withDelayedProgress(BUILD_PROGRESS, (token) =>
      this.server.request<{ line: number; changed: boolean }>("pageAction", params, token),
    );
    if (!changed) throw new UserError("This line has no item. Put the cursor on an item of the prompt.");
    if (action.action !== "rebuild") this.questions.set(params.uri, undefined);
    this.cursorLines.set(params.uri, line);
    this.moveCursor(params.uri);
  }

  private moveCursor(uri: string): void {
    const editor = editorOf(uri);
    const line = this.cursorLines.get(uri);
    if (editor === undefined || line === undefined) return;
    editor.selection = new vscode.Selection(line, 0, line, 0);
    editor.revealRange(editor.selection);
  }

  /** Set the budget of the active page or prompt document; the argument is that of the code lens. */
  async setBudget(argument: unknown): Promise<void> {
    if (typeof (argument as { tokens?: unknown } | undefined)?.tokens === "number") {
      return this.server.request("setBudget", argument);
    }
    const document = vscode.window.activeTextEditor?.document;
    if (document !== undefined && isPromptDocument(document)) {
      const tokens = await inputTokens();
      if (tokens !== undefined) await this.server.request("setBudget", { uri: document.uri.toString(), tokens });
      return;
    }
    const page = pageLine(argument);
    const tokens = await inputTokens((await this.result(page)).tokens.budget);
    if (tokens !== undefined) await this.act({ ...page, action: "budget", tokens });
  }

  /** Open the location that a line leads to, in a column that does not cover the page. */
  async openPlace(argument: unknown): Promise<void> {
    const { uri, line } = pageLine(argument);
    const params = { textDocument: { uri }, position: { line, character: 0 } };
    const [location] = (await this.server.request<Location[] | null>("textDocument/definition", params)) ?? [];
    if (location === undefined) throw new UserError("This line does not lead to a file.");
    const { One, Two } = vscode.ViewColumn;
    await openLocation(location, editorOf(uri)?.viewColumn === One ? Two : One);
  }

  async copy(argument: unknown): Promise<void> {
    await copyPrompt(await this.result(pageLine(argument)));
  }

  async openAsDocument(argument: unknown): Promise<void> {
    const content = promptText(await this.result(pageLine(argument)));
    const document = await vscode.workspace.openTextDocument({ language: BUILT_PROMPT_LANGUAGE, content });
    await vscode.window.showTextDocument(document, { preview: false });
  }

  /** Open the chat with the question if the chat participant builds the same prompt from it, else with the prompt. */
  async sendToChat(argument: unknown): Promise<void> {
    const page = pageLine(argument);
    if (!(await vscode.commands.getCommands(true)).includes(OPEN_CHAT_COMMAND)) {
      throw new UserError("This editor has no chat view. Copy the prompt instead.");
    }
    const question = chat?.createChatParticipant && this.questions.get(page.uri)?.().trim();
    const query = question ? `@promptls ${question}` : promptText(await this.result(page));
    await vscode.commands.executeCommand(OPEN_CHAT_COMMAND, { query, isPartialQuery: true });
  }

  private async result({ uri }: PageLine): Promise<BuildResult> {
    return (await this.server.request<OpenedPage<BuildResult>>("pageResult", { uri })).result;
  }
}

/** Let the places of a page open in another column, and add tooltips, because VS Code follows links on Ctrl+click. */
export const provideDocumentLinks: NonNullable<DocumentLinkMiddleware["provideDocumentLinks"]> = async (
  document,
  token,
  next,
) => {
  const links = await next(document, token);
  if (document.uri.scheme !== PAGE_SCHEME) return links;
  for (const link of links ?? []) {
    const isPlace = link.target?.scheme !== "command";
    link.tooltip = isPlace ? "open" : document.getText(link.range).slice(1, -1);
    if (!isPlace) continue;
    const line: PageLine = { uri: document.uri.toString(), line: link.range.start.line };
    link.target = vscode.Uri.from({
      scheme: "command",
      path: "promptls.openPlace",
      query: encodeURIComponent(JSON.stringify([line])),
    });
  }
  return links;
};

/** Return the line that a command is about: its argument, else the cursor's line in the page of the argument. */
export function pageLine(argument: unknown): PageLine {
  const { uri: argumentUri, line } = (argument ?? {}) as Partial<PageLine>;
  if (typeof argumentUri === "string" && line !== undefined) {
    return { uri: vscode.Uri.parse(argumentUri).toString(), line };
  }
  const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== PAGE_SCHEME) throw new UserError("Build a prompt first, and run the command on its page.");
  return { uri: uri.toString(), line: editorOf(uri.toString())?.selection.active.line ?? 0 };
}

function editorOf(uri: string): vscode.TextEditor | undefined {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const isPage = (editor: vscode.TextEditor | undefined) => editor?.document.uri.toString() === uri;
  return isPage(activeTextEditor) ? activeTextEditor : visibleTextEditors.find(isPage);
}

function pageTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => uriOf(tab) !== undefined);
}

/** Return the URI of the page in a tab. */
function uriOf({ input }: vscode.Tab): string | undefined {
  return input instanceof vscode.TabInputText && input.uri.scheme === PAGE_SCHEME ? input.uri.toString() : undefined;
}

async function inputTokens(current?: number): Promise<number | undefined> {
  const value = await vscode.window.showInputBox({
    title: "Token budget",
    prompt: "Maximum size of the prompt in tokens",
    ...(current !== undefined && { value: String(current) }),
    validateInput: (text) => (/^\s*[1-9]\d*\s*$/.test(text) ? undefined : "Enter a positive number."),
  });
  return value === undefined ? undefined : Number(value);
}

function reportMissingMentions(result: BuildResult): void {
  const problem = missingMentions(result);
  if (problem) void showMessage("Warning", problem);
}

/** Build and copy a prompt without a page.  If the index is incomplete, the user decides whether to wait for it. */
export async function buildAndCopy(
  server: Server,
  build: (token: vscode.CancellationToken) => Promise<BuildResult>,
): Promise<void> {
  const result = await withDelayedProgress(BUILD_PROGRESS, build);
  if (result.index.complete < 1) {
    const question = `${result.index.message} Copy the prompt now, or wait for the complete index?`;
    const choice = await showMessage("Warning", question, "Copy Now", "Wait");
    if (choice === undefined) return;
    if (choice === "Wait") {
      await server.indexCompleted();
      return buildAndCopy(server, build);
    }
  }
  await copyPrompt(result);
  reportMissingMentions(result);
}

async function copyPrompt(result: BuildResult): Promise<void> {
  await vscode.env.clipboard.writeText(promptText(result));
  const size = pluralize(result.tokens.used, "token");
  vscode.window.setStatusBarMessage(`$(check) Copied the prompt (${size})`, STATUS_MESSAGE_MS);
}
