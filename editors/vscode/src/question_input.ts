// Input box for a question, with completion of mentions by the server.

import * as vscode from "vscode";
import type { ClientContextProvider } from "./client_context";
import { completionLabel } from "./format";
import type { CompletionItem, CompletionList } from "./protocol";
import type { Server } from "./server";

/** What happens with the question. */
export type QuestionAction = "preview" | "copy" | "document";

export interface Question {
  message: string;
  action: QuestionAction;
}

interface Choice extends vscode.QuickPickItem {
  action?: QuestionAction;
  completion?: CompletionItem;
}

const ACTION_CHOICES: Choice[] = [
  { label: "$(open-preview) Build prompt and preview it", action: "preview", alwaysShow: true },
  { label: "$(copy) Build prompt and copy it", action: "copy", alwaysShow: true },
  { label: "$(edit) Continue in a prompt document", action: "document", alwaysShow: true },
];
const MAX_COMPLETIONS = 30;

/** Show the input box; resolves with undefined if the user closes it. */
export function showQuestionInput(
  server: Server,
  clientContext: ClientContextProvider,
  options: { title: string; value?: string },
): Promise<Question | undefined> {
  const input = vscode.window.createQuickPick<Choice>();
  input.title = options.title;
  input.placeholder = "Question; @ mentions files and folders, @# symbols";
  input.value = options.value ?? "";
  input.items = ACTION_CHOICES;
  input.ignoreFocusOut = true; // a click outside must not discard the text
  let pending: vscode.CancellationTokenSource | undefined;
  let replaceRange = { start: 0, end: 0 };

  const updateCompletions = async (): Promise<void> => {
    pending?.cancel();
    const text = input.value;
    if (!text.includes("@")) {
      input.items = ACTION_CHOICES;
      return;
    }
    const source = (pending = new vscode.CancellationTokenSource());
    input.busy = true;
    try {
      const params = { text, offset: text.length, context: clientContext.current(), limit: MAX_COMPLETIONS };
      const completions = await server.request<CompletionList>("completeMention", params, source.token);
      if (source !== pending || text !== input.value) return;
      replaceRange = completions.replace;
      input.items = toChoices(text, completions);
    } catch {
      // Completion is optional; building the prompt reports the error.
      if (source === pending) input.items = ACTION_CHOICES;
    } finally {
      if (source === pending) input.busy = false;
    }
  };

  return new Promise((resolve) => {
    input.onDidChangeValue(updateCompletions);
    input.onDidAccept(() => {
      const [choice] = input.selectedItems;
      if (choice?.completion !== undefined) {
        const separator = choice.completion.kind === "folder" ? "" : " ";
        const before = input.value.slice(0, replaceRange.start);
        const after = input.value.slice(replaceRange.end);
        input.value = `${before}${choice.completion.insertText}${separator}${after}`;
        void updateCompletions();
      } else if (choice?.action !== undefined && input.value.trim()) {
        resolve({ message: input.value, action: choice.action });
        input.hide();
      }
    });
    input.onDidHide(() => {
      pending?.cancel();
      resolve(undefined);
      input.dispose();
    });
    input.show();
    if (input.value) void updateCompletions();
  });
}

/** Order the choices: completions first while a mention is incomplete, last when it is complete. */
function toChoices(text: string, completions: CompletionList): Choice[] {
  const mentions = completions.items.map((completion): Choice => ({
    ...completionLabel(completion),
    completion,
    alwaysShow: true,
  }));
  if (mentions.length === 0) return ACTION_CHOICES;
  const typed = text.slice(completions.replace.start, completions.replace.end);
  const complete = completions.items[0]?.insertText === typed;
  const separator: Choice = { label: "", kind: vscode.QuickPickItemKind.Separator };
  return complete ? [...ACTION_CHOICES, separator, ...mentions] : [...mentions, separator, ...ACTION_CHOICES];
}
