// The preview of the prompt that was built last, and what can be done with it.

import * as vscode from "vscode";
import { BUILT } from "../documents";
import { UserError } from "../errors";
import { plural, shortPath } from "../format";
import type { Built } from "../protocol";
import { patiently } from "../say";
import { Panel } from "../view/panel";
import { preview, previewTitle, promptText } from "./render";

const CHAT = "workbench.action.chat.open";

export type Build = (token: vscode.CancellationToken) => Promise<Built>;

export class Preview implements vscode.Disposable {
  private readonly panel: Panel;

  constructor(extension: vscode.Uri) {
    this.panel = new Panel(extension, "promptls.preview");
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Build and show; "Build Again" in the page builds the same anew. */
  async show(build: Build): Promise<void> {
    const built = await patiently("building the prompt", build);
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
    const deeds: Record<string, () => unknown> = {
      copy: () => copy(built),
      document: () => openAsDocument(built),
      chat: () => sendToChat(built),
      again: () => this.show(build),
    };
    this.panel.show(previewTitle(built), (places) => preview(built, places, (uri) => shortPath(uri, folders)), {
      do: (what) => (Object.hasOwn(deeds, what) ? deeds[what]?.() : undefined),
    });
  }
}

export async function copy(built: Built): Promise<void> {
  await vscode.env.clipboard.writeText(promptText(built));
  vscode.window.setStatusBarMessage(`$(check) Copied the prompt, ${plural(built.tokens.used, "token")}`, 5000);
}

export async function openAsDocument(built: Built): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: BUILT, content: promptText(built) });
  await vscode.window.showTextDocument(document, { preview: false });
}

async function sendToChat(built: Built): Promise<void> {
  if (!(await vscode.commands.getCommands(true)).includes(CHAT)) {
    throw new UserError("This editor has no chat view; copy the prompt instead.");
  }
  await vscode.commands.executeCommand(CHAT, { query: promptText(built), isPartialQuery: true });
}
