// Hover of mentions without what their diagnostics say: VS Code shows the diagnostics in the same popup.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { withoutMessages } from "./format";

type ProvideHover = NonNullable<Middleware["provideHover"]>;

export const provideHover: ProvideHover = async (document, position, token, next) => {
  const hover = await next(document, position, token);
  if (!hover) return hover;
  const messages = vscode.languages
    .getDiagnostics(document.uri)
    .filter((diagnostic) => diagnostic.source === "promptls" && diagnostic.range.contains(position))
    .map((diagnostic) => diagnostic.message);
  const contents = hover.contents
    .map((content) => withoutMessages(typeof content === "string" ? content : content.value, messages))
    .filter((text) => text !== "");
  return contents.length > 0 ? new vscode.Hover(contents.map((text) => new vscode.MarkdownString(text)), hover.range) : null;
};
