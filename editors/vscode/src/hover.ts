// Hover of mentions without what their diagnostics say: VS Code shows the diagnostics in the same popup.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";

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

/** Remove the sentences before the first code block that are part of one of the messages. */
function withoutMessages(markdown: string, messages: readonly string[]): string {
  const code = markdown.indexOf("```");
  const prose = code < 0 ? markdown : markdown.slice(0, code);
  const isStated = (sentence: string) => {
    const text = sentence.replace(/\\(.)/g, "$1").replace(/`/g, "");
    return text !== "" && messages.some((message) => message.includes(text));
  };
  const paragraphs = prose
    .split("\n\n")
    .map((text) => (isStated(text) ? "" : text.split(/(?<=[.?!]) /).filter((sentence) => !isStated(sentence)).join(" ")));
  const kept = [...paragraphs, markdown.slice(prose.length)].filter((text) => text !== "");
  return kept.join("\n\n");
}
