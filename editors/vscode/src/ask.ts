// The box for a question: mentions are completed by the server while they are typed.

import * as vscode from "vscode";
import type { Surroundings } from "./context";
import { completionLabel } from "./format";
import type { Completion, Completions } from "./protocol";
import type { Server } from "./server";

/** What to do with the question. */
export type Deed = "preview" | "copy" | "document";

export interface Question {
  message: string;
  deed: Deed;
}

interface Choice extends vscode.QuickPickItem {
  deed?: Deed;
  completion?: Completion;
}

const DEEDS: Choice[] = [
  { label: "$(open-preview) Build the prompt and preview it", deed: "preview", alwaysShow: true },
  { label: "$(copy) Build the prompt and copy it", deed: "copy", alwaysShow: true },
  { label: "$(edit) Go on in a prompt document", deed: "document", alwaysShow: true },
];
const LIMIT = 30;

export function askQuestion(
  server: Server,
  surroundings: Surroundings,
  given: { title: string; value?: string },
): Promise<Question | undefined> {
  const box = vscode.window.createQuickPick<Choice>();
  box.title = given.title;
  box.placeholder = "A question; @ mentions files, folders, @#definitions and more";
  box.value = given.value ?? "";
  box.items = DEEDS;
  box.ignoreFocusOut = true; // a question half written is not lost by a click
  let asking: vscode.CancellationTokenSource | undefined;
  let replace = { start: 0, end: 0 };

  const complete = async (): Promise<void> => {
    asking?.cancel();
    const text = box.value;
    if (!text.includes("@")) {
      box.items = DEEDS;
      return;
    }
    const source = (asking = new vscode.CancellationTokenSource());
    box.busy = true;
    try {
      const params = { text, offset: text.length, context: surroundings.now(), limit: LIMIT };
      const found = await server.request<Completions>("completeMention", params, source.token);
      if (source !== asking || text !== box.value) return;
      replace = found.replace;
      box.items = choices(text, found);
    } catch {
      if (source === asking) box.items = DEEDS; // the question can be asked all the same, and building tells what is wrong
    } finally {
      if (source === asking) box.busy = false;
    }
  };

  return new Promise((resolve) => {
    box.onDidChangeValue(complete);
    box.onDidAccept(() => {
      const [choice] = box.selectedItems;
      if (choice?.completion !== undefined) {
        const open = choice.completion.kind === "folder" ? "" : " ";
        box.value = `${box.value.slice(0, replace.start)}${choice.completion.insertText}${open}${box.value.slice(replace.end)}`;
        void complete();
      } else if (choice?.deed !== undefined && box.value.trim()) {
        resolve({ message: box.value, deed: choice.deed });
        box.hide();
      }
    });
    box.onDidHide(() => {
      asking?.cancel();
      resolve(undefined);
      box.dispose();
    });
    box.show();
    if (box.value) void complete();
  });
}

/** Completions come first while a mention is being typed, and last once it stands there whole. */
function choices(text: string, found: Completions): Choice[] {
  const mentions = found.items.map((completion): Choice => ({
    ...completionLabel(completion),
    completion,
    alwaysShow: true,
  }));
  if (mentions.length === 0) return DEEDS;
  const typed = text.slice(found.replace.start, found.replace.end);
  const whole = found.items[0]?.insertText === typed;
  const line: Choice = { label: "", kind: vscode.QuickPickItemKind.Separator };
  return whole ? [...DEEDS, line, ...mentions] : [...mentions, line, ...DEEDS];
}
