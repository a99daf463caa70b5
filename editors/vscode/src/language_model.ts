// The editor's language model as a service for the server (`promptls/complete`), if the user's settings allow it.

import * as vscode from "vscode";
import { UserError } from "./errors";
import type { CompleteHandler } from "./language_client";
import { lm } from "./optional_api";

/** Return the handler of `promptls/complete`; undefined if the editor has no such API. */
export function completeHandler(): CompleteHandler | undefined {
  if (lm?.selectChatModels === undefined) return undefined;
  return async (params, token) => {
    // The setting has machine scope, so a workspace cannot enable it.
    const use = vscode.workspace.getConfiguration("promptls").get<string>("languageModel.use");
    if (use !== "editor") throw new UserError("The settings do not allow the editor's language model.");
    const model = await selectModel();
    const options = {
      justification: "promptls uses the model to choose the code for your question.",
      modelOptions: { max_tokens: params.maxTokens },
    };
    const response = await model.sendRequest(toChatMessages(params.messages), options, token);
    let text = "";
    for await (const chunk of response.text) text += chunk;
    return { text };
  };
}

async function selectModel(): Promise<vscode.LanguageModelChat> {
  const name = vscode.workspace.getConfiguration("promptls").get<string>("editor.model") ?? "";
  const models = (await lm?.selectChatModels()) ?? [];
  const model = name ? models.find((candidate) => candidate.id === name || candidate.family === name) : models[0];
  if (model !== undefined) return model;
  const available = models.map((candidate) => candidate.id).join(", ");
  throw new UserError(
    name
      ? `promptls.editor.model: unknown language model ${name}${available ? `. Available: ${available}` : ""}.`
      : "The editor has no language model.",
  );
}

/** Convert protocol messages to chat messages.  VS Code has no system role; system messages become user messages. */
export function toChatMessages(messages: readonly { role: string; content: string }[]): vscode.LanguageModelChatMessage[] {
  return messages.map((message) =>
    message.role === "assistant"
      ? vscode.LanguageModelChatMessage.Assistant(message.content)
      : vscode.LanguageModelChatMessage.User(message.content),
  );
}
