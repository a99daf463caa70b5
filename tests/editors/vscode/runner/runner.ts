// Runs inside the extension host: the tests that PROMPTLS_HOST_TESTS names, and a language model for both suites,
// because a headless workbench brings none.  It writes down what it is asked.

import * as fs from "node:fs";
import * as vscode from "vscode";

interface ModelHost {
  registerChatModelProvider(id: string, provider: object, metadata: object): vscode.Disposable;
}

const ANSWER = "The scribe has read your prompt.";

export function activate(context: vscode.ExtensionContext): void {
  lendModel(context);
  const tests = process.env.PROMPTLS_HOST_TESTS;
  if (!tests) return;
  // Set by the driver; a module of the tests, not of this extension.  Not waited for: whoever wants the model below
  // waits for this extension to be active.
  void (require(tests) as { run(): Promise<void> }).run();
}

function lendModel(context: vscode.ExtensionContext): void {
  const asked = process.env.PROMPTLS_ASKED;
  if (!asked) return;
  const provider = {
    async provideLanguageModelResponse(
      messages: { role: number; content: unknown }[],
      _options: unknown,
      extension: string,
      progress: vscode.Progress<{ index: number; part: unknown }>,
    ): Promise<void> {
      fs.appendFileSync(asked, `${JSON.stringify({ extension, messages: messages.map((m) => ({ role: m.role, text: textOf(m.content) })) })}\n`);
      const Part = (vscode as unknown as { LanguageModelTextPart: new (text: string) => unknown }).LanguageModelTextPart;
      progress.report({ index: 0, part: new Part(ANSWER) });
    },
    async provideTokenCount(text: unknown): Promise<number> {
      return Math.ceil(textOf(text).length / 4);
    },
  };
  const about = {
    vendor: "promptls-e2e",
    name: "Scribe",
    family: "scribe",
    version: "1",
    maxInputTokens: 6000,
    maxOutputTokens: 1000,
    isDefault: true,
    isUserSelectable: true,
  };
  const host = vscode.lm as unknown as ModelHost;
  context.subscriptions.push(host.registerChatModelProvider("scribe", provider, about));
  const answerDefault: vscode.ChatRequestHandler = (_request, _context, stream) => stream.markdown("Default.");
  context.subscriptions.push(vscode.chat.createChatParticipant("promptls-e2e.default", answerDefault));
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => textOf(part)).join("");
  const part = content as { value?: unknown; content?: unknown };
  return typeof part?.value === "string" ? part.value : part?.content === undefined ? "" : textOf(part.content);
}
