// Settings that are sent to the server: those of the user and those of the workspace.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import {
  type InspectedSetting,
  serverSettings,
  userSettings,
  workspaceSettings,
} from "../../../../editors/vscode/src/settings";

const manifestFile = path.join(process.env.PROMPTLS_REPOSITORY as string, "editors/vscode/package.json");
const declarations = serverSettings(JSON.parse(fs.readFileSync(manifestFile, "utf8")));

function inspectFrom(values: Record<string, InspectedSetting>) {
  return (key: string): InspectedSetting | undefined => values[key] ?? {};
}

test("server settings are the generated ones, without the settings of the extension", () => {
  const keys = declarations.map((setting) => setting.key);
  assert.ok(keys.includes("budget.tokens") && keys.includes("languageModel.use"));
  assert.ok(!keys.some((key) => /^(server|trace|editor)\./.test(key)));
});

test("user settings are nested and only those that differ from the default", () => {
  const inspect = inspectFrom({
    "budget.tokens": { globalValue: 4000 },
    "budget.counter": { globalValue: "auto" },
    "index.exclude": { globalValue: ["gen/"] },
    "languageModel.use": { globalValue: "editor" },
    "retrieval.variant": { workspaceValue: "strict" },
  });
  assert.deepEqual(userSettings(declarations, inspect), {
    budget: { tokens: 4000 },
    index: { exclude: ["gen/"] },
    languageModel: { use: "editor" },
  });
});

test("workspace settings include default values, and folder settings take precedence", () => {
  const inspect = inspectFrom({
    "budget.tokens": { globalValue: 4000, workspaceValue: 0 },
    "retrieval.variant": { workspaceValue: "strict", workspaceFolderValue: "citation" },
  });
  assert.deepEqual(workspaceSettings(declarations, inspect), {
    budget: { tokens: 0 },
    retrieval: { variant: "citation" },
  });
});
