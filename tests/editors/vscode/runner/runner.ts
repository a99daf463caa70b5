// Test extension: runs the tests of PROMPTLS_HOST_TESTS in the extension host, and registers a fake language model,
// because code-server has none.  The model appends its requests to the file PROMPTLS_MODEL_LOG.

import * as fs from "node:fs";
import * as vscode from "vscode";

interface ChatModelRegistry {
  registerChatModelProvider(id: string, provider: object, metadata: object): vscode.Disposable;
}

const ANSWER = "Answer of the fake model.";
/** Answer to the server's request to choose from a list of regions. */
const CHOICE = '{"regions": [1], "queries": []}';

export function activate(context: vscode.ExtensionContext): void {
  registerModel(context);
  const tests = process.env.PROMPTLS_HOST_TESTS;
  if (!tests) return;
  // Not awaited: the tests wait for the model, and the model is available only after this activation.
  void (require(tests) as { run(): Promise<void> }).run();
}

function registerModel(context: vscode.ExtensionContext): void {
  const log = process.env.PROMPTLS_MODEL_LOG;
  if (!log) return;
  const provider = {
    async provideLanguageModelResponse(
      messages: { role: number; content: unknown }[],
      _options: unknown,
      extension: string,
      progress: vscode.Progress<{ index: number; part: unknown }>,
    ): Promise<void> {
      const texts = messages.map((message) => ({ role: message.role, text: textOf(message.content) }));
      fs.appendFileSync(log, `${JSON.stringify({ extension, messages: texts })}\n`);
      const Part = (vscode as unknown as { LanguageModelTextPart: new (text: string) => unknown }).LanguageModelTextPart;
      const isChoice = texts[0]?.text.includes("a list of regions");
      progress.report({ index: 0, part: new Part(isChoice ? CHOICE : ANSWER) });
    },
    async provideTokenCount(text: unknown): Promise<number> {
      return Math.ceil(textOf(text).length / 4);
    },
  };
  const metadata = {
    vendor: "promptls-e2e",
    name: "Fake",
    family: "fake",
    version: "1",
    maxInputTokens: 6000,
    maxOutputTokens: 1000,
    isDefault: true,
    isUserSelectable: true,
  };
  const registry = vscode.lm as unknown as ChatModelRegistry;
  context.subscriptions.push(registry.registerChatModelProvider("fake", provider, metadata));
  const handleDefault: vscode.ChatRequestHandler = (_request, _context, stream) => stream.markdown("Default.");
  context.subscriptions.push(vscode.chat.createChatParticipant("promptls-e2e.default", handleDefault));
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => textOf(part)).join("");
  const part = content as { value?: unknown; content?: unknown };
  return typeof part?.value === "string" ? part.value : part?.content === undefined ? "" : textOf(part.content);
}
