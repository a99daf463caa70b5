// Prompts from what is typed: in the box, in prompt documents, about a selection.

import * as vscode from "vscode";
import { type Question, askQuestion } from "./ask";
import { type Surroundings, rangeOf } from "./context";
import { LANGUAGE, isPrompt } from "./documents";
import { UserError } from "./errors";
import { mentionOf } from "./mention";
import { type Preview, copy } from "./preview/preview";
import type { BuildParams, Built, Context, Range } from "./protocol";
import { patiently } from "./say";
import type { Server } from "./server";

export class Prompts {
  constructor(
    private readonly server: Server,
    private readonly surroundings: Surroundings,
    private readonly preview: Preview,
  ) {}

  /** The prompt for a question, with what the editor knows at this moment. */
  build(params: BuildParams, token?: vscode.CancellationToken): Promise<Built> {
    return this.server.request<Built>("buildPrompt", { context: this.surroundings.now(), ...params }, token);
  }

  /** What the editor knows at this moment. */
  context(): Context {
    return this.surroundings.now();
  }

  async ask(given: { title?: string; value?: string; with?: Partial<BuildParams> } = {}): Promise<void> {
    const box = { title: given.title ?? "Ask promptls", ...(given.value !== undefined && { value: given.value }) };
    const question = await askQuestion(this.server, this.surroundings, box);
    if (question !== undefined) await this.answer(question, given.with ?? {});
  }

  private async answer({ message, deed }: Question, more: Partial<BuildParams>): Promise<void> {
    const build = (token: vscode.CancellationToken) => this.build({ message, ...more }, token);
    if (deed === "preview") await this.preview.show(build);
    else if (deed === "copy") await copy(await patiently("building the prompt", build));
    else await openScratch(message);
  }

  async askSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const about = editor === undefined ? undefined : selectionMention(editor);
    if (about === undefined) throw new UserError("Select some lines of a file in the workspace first.");
    await this.ask({ title: "Ask promptls about this", value: `${about} ` });
  }

  async newPrompt(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const about = editor === undefined || editor.selection.isEmpty ? undefined : selectionMention(editor);
    await openScratch(about === undefined ? "" : `\n\n${about}\n`);
  }

  /** A prompt document of the command's argument, else the one in front. */
  async openPrompt(argument?: unknown): Promise<void> {
    const build = await this.ofDocument(argument);
    await this.preview.show(build);
  }

  async copyPrompt(argument?: unknown): Promise<void> {
    const build = await this.ofDocument(argument);
    await copy(await patiently("building the prompt", build));
  }

  private async ofDocument(argument: unknown): Promise<(token: vscode.CancellationToken) => Promise<Built>> {
    const document = await promptDocument(argument);
    return (token) => this.build({ message: document.getText(), document: document.uri.toString() }, token);
  }
}

async function promptDocument(argument: unknown): Promise<vscode.TextDocument> {
  const uri = (argument as { uri?: unknown } | undefined)?.uri;
  if (typeof uri === "string") {
    const known = vscode.workspace.textDocuments.find((one) => one.uri.toString() === vscode.Uri.parse(uri).toString());
    return known ?? vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  }
  if (argument instanceof vscode.Uri) return vscode.workspace.openTextDocument(argument);
  const document = vscode.window.activeTextEditor?.document;
  if (document !== undefined && isPrompt(document)) return document;
  throw new UserError("Go to a prompt document (a file *.prompt.md) first, or make one with “New Prompt Document”.");
}

export async function openScratch(content: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: LANGUAGE, content });
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const question = content.startsWith("\n") ? new vscode.Position(0, 0) : document.lineAt(document.lineCount - 1).range.end;
  editor.selection = new vscode.Selection(question, question);
}

function selectionMention(editor: vscode.TextEditor): string | undefined {
  return editor.selection.isEmpty ? undefined : mentionOfUri(editor.document.uri, rangeOf(editor.selection));
}

/** The mention of a file of the workspace, or of some of its lines. */
export function mentionOfUri(uri: vscode.Uri, range?: Range): string | undefined {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined || uri.scheme !== "file") return undefined;
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  return mentionOf(vscode.workspace.asRelativePath(uri, false), range, several ? folder.name : "");
}
