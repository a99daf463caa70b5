// Consistency of package.json with the code, the server and the lock files.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

const repository = process.env.PROMPTLS_REPOSITORY as string;
const folder = path.join(repository, "editors/vscode");
const read = (name: string) => fs.readFileSync(path.join(folder, name), "utf8");
const manifest = JSON.parse(read("package.json"));

test("the commands of the manifest are the commands that are registered", () => {
  const declared = manifest.contributes.commands.map((c: { command: string }) => c.command.replace("promptls.", ""));
  const table = read("src/extension.ts").match(/const commands[^{]*\{\n([\s\S]*?)\n {2}\};/)?.[1] ?? "";
  const registered = [...table.matchAll(/^ {4}(\w+): /gm)].map((match) => match[1]);
  assert.deepEqual([...registered].sort(), [...declared].sort());
});

test("the tools can be referenced in the chat as #promptls…", () => {
  for (const { name, toolReferenceName, canBeReferencedInPrompt } of manifest.contributes.languageModelTools) {
    assert.deepEqual([toolReferenceName, canBeReferencedInPrompt, name.startsWith("promptls_")], [name, true, true]);
  }
});

test("the extension types nothing into terminals, starts no shell and trusts no Markdown", () => {
  const forbidden = /sendText|createTerminal|sendSequence|shell:|\beval\(|new Function|\.isTrusted\s*=|supportHtml|child_process/;
  for (const name of fs.readdirSync(path.join(folder, "src"))) {
    const source = read(`src/${name}`).replace(name === "process.ts" ? 'from "node:child_process"' : "", "");
    assert.doesNotMatch(source, forbidden, name);
  }
});

test("chat commands are recipes of the server, except the one that shows the prompt", () => {
  const golden = path.join(repository, "tests/protocol/golden/recipes.json");
  const { recipes } = JSON.parse(fs.readFileSync(golden, "utf8")).result;
  const names = recipes.map((recipe: { name: string }) => recipe.name);
  for (const { name } of manifest.contributes.chatParticipants[0].commands) {
    assert.ok(name === "prompt" || names.includes(name), `unknown recipe ${name}`);
  }
});

test("settings that execute programs or send data have machine scope", () => {
  const sensitive = /server\.(path|package|python)|languageModel\.|editor\.model|cache\.|embedding\.|secrets\./;
  for (const group of manifest.contributes.configuration) {
    for (const [name, schema] of Object.entries<{ scope?: string }>(group.properties)) {
      if (sensitive.test(name)) assert.equal(schema.scope, "machine", name);
    }
  }
});

test("lock files contain no download URLs", () => {
  const tests = path.join(repository, "tests/editors/vscode");
  for (const packageFolder of [folder, tests, path.join(tests, "code-server")]) {
    const lockFile = fs.readFileSync(path.join(packageFolder, "package-lock.json"), "utf8");
    assert.doesNotMatch(lockFile, /"resolved"|https?:\/\/[^"]*(registry|mirror|npm)[^"]*\.tgz/);
  }
});

test("keybindings, menus, grammars and languages refer to existing commands and files", () => {
  const commands = new Set<string>(manifest.contributes.commands.map((c: { command: string }) => c.command));
  const menus = Object.values<{ command: string }[]>(manifest.contributes.menus).flat();
  commands.add("workbench.action.closeActiveEditor"); // of the editor
  for (const { command } of [...manifest.contributes.keybindings, ...menus]) assert.ok(commands.has(command), command);
  for (const grammar of manifest.contributes.grammars) {
    assert.equal(JSON.parse(read(grammar.path)).scopeName, grammar.scopeName);
  }
  for (const language of manifest.contributes.languages) JSON.parse(read(language.configuration));
});
