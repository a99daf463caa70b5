// The manifest says what the code does.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

const folder = path.join(process.env.PROMPTLS_REPOSITORY as string, "editors/vscode");
const read = (name: string) => fs.readFileSync(path.join(folder, name), "utf8");
const manifest = JSON.parse(read("package.json"));

test("every command of the manifest has its code, and the other way round", () => {
  const written = manifest.contributes.commands.map((c: { command: string }) => c.command.replace("promptls.", ""));
  const table = read("src/extension.ts").match(/const commands[^{]*\{\n([\s\S]*?)\n {2}\};/)?.[1] ?? "";
  const coded = [...table.matchAll(/^ {4}(\w+): /gm)].map((found) => found[1]);
  assert.deepEqual([...coded].sort(), [...written].sort());
});

test("chat commands are recipes of the server, but for the one that only shows the prompt", () => {
  const golden = path.join(process.env.PROMPTLS_REPOSITORY as string, "tests/protocol/golden/recipes.json");
  const { recipes } = JSON.parse(fs.readFileSync(golden, "utf8")).result;
  const names = recipes.map((recipe: { name: string }) => recipe.name);
  for (const { name } of manifest.contributes.chatParticipants[0].commands) {
    assert.ok(name === "prompt" || names.includes(name), `${name} is no recipe`);
  }
});

test("settings that could run something or send something are the user's own", () => {
  for (const group of manifest.contributes.configuration) {
    for (const [name, schema] of Object.entries<{ scope?: string }>(group.properties)) {
      if (/server\.(path|package|python)|languageModel\.|editor\.model|cache\.|embedding\.|secrets\./.test(name)) assert.equal(schema.scope, "machine", name);
    }
  }
});

test("the lock file names no place of download", () => {
  for (const file of [path.join(folder, "package-lock.json"), path.join(folder, "../../tests/editors/vscode/package-lock.json"), path.join(folder, "../../tests/editors/vscode/code-server/package-lock.json")]) {
    assert.doesNotMatch(fs.readFileSync(file, "utf8"), /"resolved"|https?:\/\/[^"]*(registry|mirror|npm)[^"]*\.tgz/);
  }
});

test("keys, menus and grammars lead to something that is there", () => {
  const commands = new Set(manifest.contributes.commands.map((c: { command: string }) => c.command));
  const used = [...manifest.contributes.keybindings, ...Object.values<{ command: string }[]>(manifest.contributes.menus).flat()];
  for (const { command } of used) assert.ok(commands.has(command), command);
  for (const grammar of manifest.contributes.grammars) assert.equal(JSON.parse(read(grammar.path)).scopeName, grammar.scopeName);
  for (const language of manifest.contributes.languages) JSON.parse(read(language.configuration));
});
