// The chat participant @promptls: the prompt for the user's message goes to the model that the user has chosen.

import * as vscode from "vscode";
import { BUILT } from "./documents";
import { isCancelled, sentence } from "./errors";
import { plural, spent } from "./format";
import type { Surroundings } from "./context";
import { rangeOf } from "./context";
import { chatMessages } from "./model";
import { chat, lm, requestModel } from "./newer";
import { promptText } from "./preview/render";
import { type Prompts, mentionOfUri } from "./prompts";
import type { BuildParams, Built, Turn } from "./protocol";

export const PARTICIPANT = "promptls.chat";
const ONLY_PROMPT = "prompt";
const PROBLEMS_SHOWN = new Set(["ambiguous", "unresolved", "refused", "omitted"]);

export function registerChat(prompts: Prompts, surroundings: Surroundings, icon: vscode.Uri): vscode.Disposable[] {
  if (chat?.createChatParticipant === undefined) return [];
  const participant = chat.createChatParticipant(PARTICIPANT, async (request, context, stream, token) => {
    try {
      surroundings.history = turns(context.history);
      await respond(prompts, request, surroundings.history, stream, token);
      return {};
    } catch (error) {
      if (isCancelled(error)) return {};
      return { errorDetails: { message: sentence(error) } };
    }
  });
  participant.iconPath = icon;
  return [participant];
}

async function respond(
  prompts: Prompts,
  request: vscode.ChatRequest,
  history: Turn[],
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<void> {
  const model = requestModel(request) ?? (await lm?.selectChatModels?.())?.[0];
  stream.progress("Gathering the code that this is about…");
  const params: BuildParams = {
    message: withReferences(request),
    output: "messages",
    context: { ...prompts.context(), history },
    ...(request.command && request.command !== ONLY_PROMPT && { recipe: request.command }),
    ...(model !== undefined && { budget: { model: model.family } }),
  };
  let built = await prompts.build(params, token);
  if (model !== undefined && built.tokens.used > model.maxInputTokens) {
    built = await prompts.build({ ...params, budget: { tokens: model.maxInputTokens } }, token);
  }
  show(built, stream);
  if (request.command === ONLY_PROMPT || model === undefined) {
    if (model === undefined && request.command !== ONLY_PROMPT) {
      stream.markdown("This editor offers no language model, so here is the prompt for one elsewhere.\n\n");
    }
    stream.markdown(new vscode.MarkdownString().appendCodeblock(promptText(built), BUILT));
    return;
  }
  const response = await model.sendRequest(chatMessages(built.messages ?? []), {}, token);
  for await (const part of response.text) stream.markdown(part);
}

/** What the prompt holds, and what could not be had. */
function show(built: Built, stream: vscode.ChatResponseStream): void {
  for (const item of built.items) {
    const uri = vscode.Uri.parse(item.uri);
    if (uri.scheme !== "file") continue;
    const { start, end } = item.range;
    stream.reference(new vscode.Location(uri, new vscode.Range(start.line, 0, Math.max(start.line, end.line - 1), 0)));
  }
  stream.progress(`${plural(built.items.length, "region")}, ${spent(built.tokens)}`);
  const troubles = built.mentions.filter((m) => PROBLEMS_SHOWN.has(m.status));
  const lines = [
    ...troubles.map((m) => `${m.text}: ${m.reason}${m.suggestion ? ` Did you mean ${m.suggestion}?` : ""}`),
    ...built.warnings,
  ];
  for (const line of lines) {
    stream.markdown(new vscode.MarkdownString("> ").appendText(line).appendMarkdown("\n\n"));
  }
}

/** What the user has attached in the chat box is mentioned, as if it had been typed. */
function withReferences(request: vscode.ChatRequest): string {
  const mentions = request.references.map((reference) => {
    const value = reference.value;
    if (value instanceof vscode.Uri) return mentionOfUri(value);
    if (value instanceof vscode.Location) return mentionOfUri(value.uri, rangeOf(value.range));
    return undefined;
  });
  const known = mentions.filter((mention) => mention !== undefined && !request.prompt.includes(mention));
  const message = request.prompt.trim() || (request.command ? "See what is selected or attached." : "");
  return [message, ...known].filter(Boolean).join(" ");
}

/** The conversation with this participant as the server takes it. */
export function turns(history: readonly (vscode.ChatRequestTurn | vscode.ChatResponseTurn)[]): Turn[] {
  const out: Turn[] = [];
  for (const turn of history) {
    if (turn instanceof vscode.ChatRequestTurn) {
      out.push({ role: "user", content: turn.prompt });
      continue;
    }
    const parts = turn.response.filter((part) => part instanceof vscode.ChatResponseMarkdownPart);
    const content = parts.map((part) => part.value.value).join("");
    if (content.trim()) out.push({ role: "assistant", content });
  }
  return out.filter((turn) => turn.content.trim());
}
