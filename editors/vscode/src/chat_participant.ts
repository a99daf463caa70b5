// Chat participant @promptls: builds the prompt of the user's message and sends it to the selected model.

import * as vscode from "vscode";
import { type ClientContextProvider, toProtocolRange } from "./client_context";
import { BUILT_PROMPT_LANGUAGE, VIRTUAL_SCHEME } from "./documents";
import { errorSentence, isCancelled } from "./errors";
import { formatTokenUsage, pluralize, promptText } from "./format";
import { toChatMessages } from "./language_model";
import { chat, lm, requestModel } from "./optional_api";
import { type PromptBuilder, uriMention } from "./prompt_builder";
import type { BuildParams, BuildResult, Turn } from "./protocol";

const PARTICIPANT_ID = "promptls.chat";
/** Chat command that shows the prompt without sending it. */
const PROMPT_COMMAND = "prompt";
const REPORTED_STATUSES = new Set(["ambiguous", "unresolved", "refused", "omitted"]);

/** Register the participant; return an empty list if the editor has no chat API. */
export function registerChatParticipant(
  prompts: PromptBuilder,
  clientContext: ClientContextProvider,
  icon: vscode.Uri,
): vscode.Disposable[] {
  if (chat?.createChatParticipant === undefined) return [];
  const participant = chat.createChatParticipant(PARTICIPANT_ID, async (request, context, stream, token) => {
    try {
      clientContext.chatHistory = toTurns(context.history);
      await respond(prompts, request, clientContext.chatHistory, stream, token);
      return {};
    } catch (error) {
      if (isCancelled(error)) return {};
      return { errorDetails: { message: errorSentence(error) } };
    }
  });
  participant.iconPath = icon;
  return [participant];
}

async function respond(
  prompts: PromptBuilder,
  request: vscode.ChatRequest,
  history: Turn[],
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<void> {
  const model = requestModel(request) ?? (await lm?.selectChatModels?.())?.[0];
  stream.progress("Gathering relevant code…");
  const params: BuildParams = {
    message: messageWithReferences(request),
    output: "messages",
    context: { ...prompts.currentContext(), history },
    ...(request.command && request.command !== PROMPT_COMMAND && { recipe: request.command }),
    ...(model !== undefined && { budget: { model: model.family } }),
  };
  let result = await prompts.build(params, token);
  if (model !== undefined && result.tokens.used > model.maxInputTokens) {
    result = await prompts.build({ ...params, budget: { tokens: model.maxInputTokens } }, token);
  }
  showSummary(result, stream);
  if (request.command === PROMPT_COMMAND || model === undefined) {
    if (model === undefined && request.command !== PROMPT_COMMAND) {
      stream.markdown("This editor has no language model. Copy the prompt below into another tool.\n\n");
    }
    stream.markdown(new vscode.MarkdownString().appendCodeblock(promptText(result), BUILT_PROMPT_LANGUAGE));
    return;
  }
  const response = await model.sendRequest(toChatMessages(result.messages ?? []), {}, token);
  for await (const chunk of response.text) stream.markdown(chunk);
}

/** Show references to the items of the prompt, its size, unresolved mentions and warnings. */
function showSummary(result: BuildResult, stream: vscode.ChatResponseStream): void {
  for (const item of result.items) {
    const location = item.location ?? item;
    const uri = vscode.Uri.parse(location.uri);
    if (uri.scheme === VIRTUAL_SCHEME) continue;
    const { start, end } = location.range;
    stream.reference(new vscode.Location(uri, new vscode.Range(start.line, 0, Math.max(start.line, end.line - 1), 0)));
  }
  stream.progress(`${pluralize(result.items.length, "item")}, ${formatTokenUsage(result.tokens)}`);
  const failedMentions = result.mentions.filter((mention) => REPORTED_STATUSES.has(mention.status));
  const lines = [
    ...failedMentions.map(({ text, reason, suggestion }) => {
      return `${text}: ${reason}${suggestion ? ` Did you mean ${suggestion}?` : ""}`;
    }),
    ...result.warnings,
  ];
  for (const line of lines) {
    stream.markdown(new vscode.MarkdownString("> ").appendText(line).appendMarkdown("\n\n"));
  }
}

/** Return the message with mentions of attached files and ranges, in place of their names in the text or at its end. */
function messageWithReferences(request: vscode.ChatRequest): string {
  let text = request.prompt;
  const attached: string[] = [];
  // Those in the text come in reverse order, so that a replacement moves no other range.
  for (const { value, range } of request.references) {
    const location = value instanceof vscode.Location ? value : undefined;
    const uri = value instanceof vscode.Uri ? value : location?.uri;
    const mention = uri && uriMention(uri, location && toProtocolRange(location.range));
    if (mention === undefined) continue;
    if (range !== undefined) text = text.slice(0, range[0]) + mention + text.slice(range[1]);
    else if (!text.includes(mention)) attached.push(mention);
  }
  const message = text.trim() || (request.command ? "See what is selected or attached." : "");
  return [message, ...attached].filter(Boolean).join(" ");
}

/** Convert the chat history of this participant to protocol turns. */
function toTurns(history: readonly (vscode.ChatRequestTurn | vscode.ChatResponseTurn)[]): Turn[] {
  const turns: Turn[] = [];
  for (const turn of history) {
    if (turn instanceof vscode.ChatRequestTurn) {
      turns.push({ role: "user", content: turn.prompt });
      continue;
    }
    const parts = turn.response.filter((part) => part instanceof vscode.ChatResponseMarkdownPart);
    const content = parts.map((part) => part.value.value).join("");
    if (content.trim()) turns.push({ role: "assistant", content });
  }
  return turns.filter((turn) => turn.content.trim());
}
