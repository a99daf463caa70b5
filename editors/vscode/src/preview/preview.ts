// Preview panel of a built prompt, and its actions: copy, open as document, send to chat, rebuild.

import * as vscode from "vscode";
import { BUILT_PROMPT_LANGUAGE } from "../documents";
import { UserError } from "../errors";
import { missingMentions, pluralize, relativePath } from "../format";
import { withDelayedProgress } from "../notifications";
import type { BuildResult } from "../protocol";
import { WebviewPanel } from "../webview/panel";
import { previewPage, previewTitle, promptText } from "./preview_page";

const OPEN_CHAT_COMMAND = "workbench.action.chat.open";
const STATUS_MESSAGE_MS = 5000;

export type BuildFunction = (token: vscode.CancellationToken) => Promise<BuildResult>;

export class Preview implements vscode.Disposable {
  private readonly panel: WebviewPanel;
  /** Builds the shown prompt again; undefined if it was built from a complete index. */
  private rebuildWhenIndexed: (() => Promise<void>) | undefined;

  constructor(extensionUri: vscode.Uri) {
    this.panel = new WebviewPanel(extensionUri, "promptls.preview");
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Build and show a prompt.  The page's button “Rebuild” calls `build` again. */
  async show(build: BuildFunction, options: { inBackground?: boolean } = {}): Promise<void> {
    const result = await withDelayedProgress("building the prompt", build);
    this.rebuildWhenIndexed = result.index.complete < 1 ? () => this.show(build, { inBackground: true }) : undefined;
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
    const actions: Record<string, () => unknown> = {
      copy: () => copyPrompt(result),
      document: () => openAsDocument(result),
      chat: () => sendToChat(result),
      rebuild: () => this.show(build),
    };
    this.panel.show(
      previewTitle(result),
      (links) => previewPage(result, links, (uri) => relativePath(uri, folders)),
      { onAction: (name) => (Object.hasOwn(actions, name) ? actions[name]?.() : undefined) },
      options,
    );
    if (!options.inBackground) reportMissingMentions(result);
  }

  /** Build the shown prompt again if it was built from an incomplete index. */
  async indexCompleted(): Promise<void> {
    const rebuild = this.rebuildWhenIndexed;
    this.rebuildWhenIndexed = undefined;
    if (this.panel.isOpen) await rebuild?.();
  }
}

function reportMissingMentions(result: BuildResult): void {
  const problem = missingMentions(result);
  if (problem) void vscode.window.showWarningMessage(`promptls: ${problem}`);
}

/** Copy a prompt that was not previewed to the clipboard. */
export async function copyBuiltPrompt(result: BuildResult): Promise<void> {
  await copyPrompt(result);
  reportMissingMentions(result);
}

/** Copy a prompt to the clipboard. */
async function copyPrompt(result: BuildResult): Promise<void> {
  await vscode.env.clipboard.writeText(promptText(result));
  const size = pluralize(result.tokens.used, "token");
  vscode.window.setStatusBarMessage(`$(check) Copied the prompt (${size})`, STATUS_MESSAGE_MS);
}

async function openAsDocument(result: BuildResult): Promise<void> {
  const content = promptText(result);
  const document = await vscode.workspace.openTextDocument({ language: BUILT_PROMPT_LANGUAGE, content });
  await vscode.window.showTextDocument(document, { preview: false });
}

async function sendToChat(result: BuildResult): Promise<void> {
  if (!(await vscode.commands.getCommands(true)).includes(OPEN_CHAT_COMMAND)) {
    throw new UserError("This editor has no chat view. Copy the prompt instead.");
  }
  await vscode.commands.executeCommand(OPEN_CHAT_COMMAND, { query: promptText(result), isPartialQuery: true });
}
