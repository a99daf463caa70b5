// Building of prompts from the input box, prompt documents and selections.

import * as vscode from "vscode";
import { type ClientContextProvider, toProtocolRange } from "./client_context";
import { PROMPT_LANGUAGE, isCodeDocument, isPromptDocument } from "./documents";
import { UserError } from "./errors";
import { formatMention } from "./mention";
import { withDelayedProgress } from "./notifications";
import { type Pages, buildAndCopy } from "./pages";
import type { BuildParams, BuildResult, Context, Range } from "./protocol";
import { type Question, showQuestionInput } from "./question_input";
import type { Server } from "./server";

export class PromptBuilder {
  constructor(
    private readonly server: Server,
    private readonly clientContext: ClientContextProvider,
    private readonly pages: Pages,
  ) {}

  /** Build a prompt; the default context is the current state of the editor. */
  build(params: BuildParams, token?: vscode.CancellationToken): Promise<BuildResult> {
    return this.server.request<BuildResult>("buildPrompt", { context: this.currentContext(), ...params }, token);
  }

  currentContext(): Context {
    return this.clientContext.current();
  }

  /** Ask for a question and build its prompt.  The question begins with the selection, if there is one. */
  async ask(title = "Ask promptls", params: Partial<BuildParams> = {}): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const isSelected = editor !== undefined && !editor.selection.isEmpty && isCodeDocument(editor.document);
    const options = { title, value: isSelected ? "@selection " : "" };
    const question = await showQuestionInput(this.server, this.clientContext, options);
    if (question !== undefined) await this.runAction(question, params);
  }

  private async runAction({ message, action }: Question, params: Partial<BuildParams>): Promise<void> {
    if (action === "document") return openPromptDocument(message);
    const build = { message, ...params, context: this.currentContext() };
    if (action === "copy") return buildAndCopy(this.server, (token) => this.build(build, token));
    // The chat participant has no arguments of recipes.
    await this.pages.openPrompt(build, params.recipe === undefined ? { question: () => message } : {});
  }

  /** Open a new prompt document that mentions the selected lines. */
  async newPrompt(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const mention = editor === undefined || editor.selection.isEmpty ? undefined : selectionMention(editor);
    await openPromptDocument(mention === undefined ? "" : `\n\n${mention}\n`);
  }

  /** Build a prompt document and show its page: the command's argument, else the active one. */
  async openPrompt(argument?: unknown): Promise<void> {
    const document = await findPromptDocument(argument);
    const params = { ...documentParams(document), context: this.currentContext() };
    await this.pages.openPrompt(params, { followsDocument: true, question: () => document.getText() });
  }

  /** Let the language model of the settings answer in a prompt document: the command's argument, else the active one. */
  async answer(argument?: unknown): Promise<void> {
    const uri = (await findPromptDocument(argument)).uri.toString();
    await withDelayedProgress("waiting for the answer", (token) => this.server.request("answer", { uri }, token));
  }

  /** Build and copy a prompt document: the command's argument, else the active one. */
  async copyPrompt(argument?: unknown): Promise<void> {
    const document = await findPromptDocument(argument);
    await buildAndCopy(this.server, (token) => this.build(documentParams(document), token));
  }
}

function documentParams(document: vscode.TextDocument): BuildParams {
  return { message: document.getText(), document: document.uri.toString() };
}

async function findPromptDocument(argument: unknown): Promise<vscode.TextDocument> {
  const argumentUri = (argument as { uri?: unknown } | undefined)?.uri;
  if (typeof argumentUri === "string") {
    const uri = vscode.Uri.parse(argumentUri);
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    return open ?? vscode.workspace.openTextDocument(uri);
  }
  if (argument instanceof vscode.Uri) return vscode.workspace.openTextDocument(argument);
  const document = vscode.window.activeTextEditor?.document;
  if (document !== undefined && isPromptDocument(document)) return document;
  throw new UserError("Open a prompt document (*.promptls.md) first, or create one with “New Prompt Document”.");
}

/** Open an untitled prompt document with the cursor where the question goes. */
export async function openPromptDocument(content: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: PROMPT_LANGUAGE, content });
  const cursor = content.startsWith("\n")
    ? new vscode.Position(0, 0)
    : document.lineAt(document.lineCount - 1).range.end;
  // The cursor is set with the editor; set later, it would move while the user is already typing.
  await vscode.window.showTextDocument(document, { preview: false, selection: new vscode.Range(cursor, cursor) });
}

function selectionMention(editor: vscode.TextEditor): string | undefined {
  if (editor.selection.isEmpty) return undefined;
  const { document, selection } = editor;
  return uriMention(document.uri, toProtocolRange(selection)) ?? (isCodeDocument(document) ? "@selection" : undefined);
}

/** Return the mention of a workspace file or of a range of its lines; undefined outside of the workspace. */
export function uriMention(uri: vscode.Uri, range?: Range): string | undefined {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined || uri.scheme !== "file") return undefined;
  const multiRoot = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  return formatMention(vscode.workspace.asRelativePath(uri, false), range, multiRoot ? folder.name : "");
}
