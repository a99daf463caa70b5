// Input box for a question, with completion of mentions by the server and the tokens of complete ones.

import * as vscode from "vscode";
import type { ClientContextProvider } from "./client_context";
import { activityLabel, completionLabel, mentionSummary } from "./format";
import type { CompletionItem, CompletionList, Mention } from "./protocol";
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

const MAX_COMPLETIONS = 30;

/** Return the actions; the first one names the mentions of the question. */
function actionChoices(mentions: readonly Mention[] = []): Choice[] {
  return [
    { label: "$(open-preview) Build prompt and preview it", detail: mentionSummary(mentions), action: "preview", alwaysShow: true },
    { label: "$(copy) Build prompt and copy it", action: "copy", alwaysShow: true },
    { label: "$(edit) Continue in a prompt document", action: "document", alwaysShow: true },
  ];
}

/** Show the input box; resolves with undefined if the user closes it. */
export function showQuestionInput(
  server: Server,
  clientContext: ClientContextProvider,
  options: { title: string; value: string },
): Promise<Question | undefined> {
  const input = vscode.window.createQuickPick<Choice>();
  input.placeholder = "Question, with @file and @#symbol";
  input.items = actionChoices();
  input.ignoreFocusOut = true; // a click outside must not discard the text
  const showActivity = () => {
    input.title = [options.title, activityLabel(server.state, server.status)].filter(Boolean).join(": ");
  };
  showActivity();
  const listener = server.onDidChange(showActivity);
  let pending: vscode.CancellationTokenSource | undefined;
  let updated: Promise<void> = Promise.resolve();
  let replaceRange = { start: 0, end: 0 };

  const updateCompletions = async (): Promise<void> => {
    pending?.cancel();
    const text = input.value;
    if (!/[@＠#]/.test(text)) {
      input.items = actionChoices();
      return;
    }
    const source = (pending = new vscode.CancellationTokenSource());
    input.busy = true;
    try {
      const context = clientContext.current();
      const params = { text, offset: text.length, context, limit: MAX_COMPLETIONS };
      const completions = await server.request<CompletionList>("completeMention", params, source.token);
      if (source !== pending) return;
      replaceRange = completions.replace;
      input.items = toChoices(text, completions);
      if (completions.items.length > 0) return;
      input.busy = false;
      const resolved = { message: text, context };
      const { mentions } = await server.request<{ mentions: Mention[] }>("resolveMentions", resolved, source.token);
      if (source !== pending) return;
      const active = input.activeItems[0]?.action;
      input.items = actionChoices(mentions);
      if (active !== undefined) input.activeItems = input.items.filter(({ action }) => action === active);
    } catch {
      // Completion is optional; building the prompt reports the error.
      if (source === pending) input.items = actionChoices();
    } finally {
      if (source === pending) input.busy = false;
    }
  };

  return new Promise((resolve) => {
    const update = () => {
      updated = updateCompletions();
    };
    input.onDidChangeValue(update);
    input.onDidAccept(async () => {
      const text = input.value;
      let [choice] = input.selectedItems;
      // While completions load, the list is that of an earlier text, and its first row was not chosen by the user.
      if (input.busy && (choice?.action === undefined || choice === input.items[0])) {
        await updated;
        if (text !== input.value) return;
        [choice] = input.items;
      }
      if (choice?.completion !== undefined) {
        const separator = choice.completion.kind === "folder" ? "" : " ";
        const before = input.value.slice(0, replaceRange.start);
        const after = input.value.slice(replaceRange.end);
        input.value = `${before}${choice.completion.insertText}${separator}${after}`;
        update();
      } else if (choice?.action !== undefined && input.value.trim()) {
        resolve({ message: input.value, action: choice.action });
        input.hide();
      }
    });
    input.onDidHide(() => {
      pending?.cancel();
      listener.dispose();
      resolve(undefined);
      input.dispose();
    });
    input.show();
    if (options.value) {
      input.value = options.value; // before `show`, it would be selected, and typing would replace it
      update();
    }
  });
}

/** Order the choices: completions first while a mention is incomplete, last when it is complete. */
function toChoices(text: string, completions: CompletionList): Choice[] {
  const mentions = completions.items.map((completion): Choice => ({
    ...completionLabel(completion),
    completion,
    alwaysShow: true,
  }));
  if (mentions.length === 0) return actionChoices();
  const typed = text.slice(completions.replace.start, completions.replace.end);
  const complete = completions.items[0]?.insertText === typed;
  const separator: Choice = { label: "", kind: vscode.QuickPickItemKind.Separator };
  return complete ? [...actionChoices(), separator, ...mentions] : [...mentions, separator, ...actionChoices()];
}
