// Webview panel: shows a page and handles clicks on its buttons.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { withErrorNotification } from "../notifications";
import { type Html, PageLinks, renderPage } from "./html";
import { openLocation } from "./open_location";

/** Handlers of buttons; buttons that open a location need none. */
export interface PanelHandlers {
  onAction?(name: string): unknown;
  onSymbol?(name: string): unknown;
}

/** Message of media/view.js. */
interface PageMessage {
  /** Index of a location. */
  open?: unknown;
  /** Index of a symbol. */
  symbol?: unknown;
  /** Name of an action. */
  action?: unknown;
}

export class WebviewPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private links = new PageLinks();
  private handlers: PanelHandlers = {};

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly viewType: string,
  ) {}

  dispose(): void {
    this.panel?.dispose();
  }

  get isOpen(): boolean {
    return this.panel !== undefined;
  }

  /** Show a page; with `inBackground`, an open panel is not brought to the front. */
  show(
    title: string,
    render: (links: PageLinks) => Html,
    handlers: PanelHandlers = {},
    { inBackground = false } = {},
  ): void {
    const isNew = this.panel === undefined;
    const panel = (this.panel ??= this.createPanel());
    this.links = new PageLinks();
    this.handlers = handlers;
    panel.title = title;
    const mediaUri = (name: string) =>
      panel.webview.asWebviewUri(vscode.Uri.joinPath(this.extensionUri, "media", name)).toString();
    panel.webview.html = renderPage({
      title,
      body: render(this.links),
      nonce: randomBytes(16).toString("hex"),
      cspSource: panel.webview.cspSource,
      styleUri: mediaUri("view.css"),
      scriptUri: mediaUri("view.js"),
    });
    if (!isNew && !inBackground) panel.reveal();
  }

  private createPanel(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(this.viewType, "promptls", vscode.ViewColumn.Beside, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [vscode.Uri.joinPath(this.extensionUri, "media")],
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    panel.webview.onDidReceiveMessage(withErrorNotification((message: unknown) => this.handleMessage(message)));
    return panel;
  }

  private async handleMessage(message: unknown): Promise<void> {
    const { open, symbol, action } = (message ?? {}) as PageMessage;
    if (typeof open === "number") {
      const location = this.links.locations[open];
      if (location !== undefined) await openLocation(location, this.otherColumn());
    } else if (typeof symbol === "number") {
      const name = this.links.symbols[symbol];
      if (name !== undefined) await this.handlers.onSymbol?.(name);
    } else if (typeof action === "string") {
      await this.handlers.onAction?.(action);
    }
  }

  /** Return a column that does not cover this panel. */
  private otherColumn(): vscode.ViewColumn {
    return this.panel?.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One;
  }
}
