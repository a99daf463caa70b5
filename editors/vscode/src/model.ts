// The editor's own language model, lent to the server when the user's settings say so.

import * as vscode from "vscode";
import type { CompleteParams } from "./client";
import { UserError } from "./errors";
import { lm } from "./newer";

/** Answers `promptls/complete`; undefined where the user has not set `languageModel.use` to "editor". */
export function answer(): ((params: CompleteParams, token: vscode.CancellationToken) => Promise<{ text: string }>) | undefined {
  // The setting is of machine scope: no workspace can lend the model away.
  const use = vscode.workspace.getConfiguration("promptls").get<string>("languageModel.use");
  if (use !== "editor" || lm?.selectChatModels === undefined) return undefined;
  return async (params, token) => {
    const model = await chosenModel();
    const options = {
      justification: "promptls has it find search terms for your question.",
      modelOptions: { max_tokens: params.maxTokens },
    };
    const response = await model.sendRequest(chatMessages(params.messages), options, token);
    let text = "";
    for await (const part of response.text) text += part;
    return { text };
  };
}

async function chosenModel(): Promise<vscode.LanguageModelChat> {
  const wanted = vscode.workspace.getConfiguration("promptls").get<string>("editor.model") ?? "";
  const models = (await lm?.selectChatModels()) ?? [];
  const model = wanted ? models.find((one) => one.id === wanted || one.family === wanted) : models[0];
  if (model !== undefined) return model;
  const names = models.map((one) => one.id).join(", ");
  throw new UserError(
    wanted
      ? `The editor has no language model ${wanted}; correct the setting promptls.editor.model${names ? ` (there are ${names})` : ""}.`
      : "The editor offers no language model.",
  );
}

/** Messages of the wire as the editor's; it knows no system messages, so those become the user's. */
export function chatMessages(messages: readonly { role: string; content: string }[]): vscode.LanguageModelChatMessage[] {
  return messages.map((m) =>
    m.role === "assistant"
      ? vscode.LanguageModelChatMessage.Assistant(m.content)
      : vscode.LanguageModelChatMessage.User(m.content),
  );
}
