// One webview panel: shows a page and tells what was pressed in it.  The page can only name what it was given.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { guarded } from "../say";
import { type Html, Places, page } from "./html";
import { openPlace } from "./open";

export interface Pressed {
  /** A button that does something, by its name. */
  do?(what: string): unknown;
  /** A name to look up. */
  name?(name: string): unknown;
}

export class Panel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private places = new Places();
  private pressed: Pressed = {};

  constructor(
    private readonly extension: vscode.Uri,
    private readonly type: string,
  ) {}

  dispose(): void {
    this.panel?.dispose();
  }

  show(title: string, render: (places: Places) => Html, pressed: Pressed = {}): void {
    const fresh = this.panel === undefined;
    const panel = (this.panel ??= this.create());
    this.places = new Places();
    this.pressed = pressed;
    panel.title = title;
    const file = (name: string) => panel.webview.asWebviewUri(vscode.Uri.joinPath(this.extension, "media", name)).toString();
    panel.webview.html = page({
      title,
      body: render(this.places),
      nonce: randomBytes(16).toString("hex"),
      source: panel.webview.cspSource,
      style: file("view.css"),
      script: file("view.js"),
    });
    if (!fresh) panel.reveal();
  }

  private create(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(this.type, "promptls", vscode.ViewColumn.Beside, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [vscode.Uri.joinPath(this.extension, "media")],
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    panel.webview.onDidReceiveMessage(guarded((message: unknown) => this.take(message)));
    return panel;
  }

  private async take(message: unknown): Promise<void> {
    const said = (message ?? {}) as { open?: unknown; name?: unknown; do?: unknown };
    if (typeof said.open === "number") {
      const place = this.places.all[said.open];
      if (place !== undefined) await openPlace(place, this.beside());
    } else if (typeof said.name === "number") {
      const name = this.places.names[said.name];
      if (name !== undefined) await this.pressed.name?.(name);
    } else if (typeof said.do === "string") {
      await this.pressed.do?.(said.do);
    }
  }

  /** A column that does not cover this panel. */
  private beside(): vscode.ViewColumn {
    return this.panel?.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One;
  }
}
