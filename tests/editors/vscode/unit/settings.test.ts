// Which settings the server is told as the user's own, and which as the workspace's.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { type Inspected, declared, lost, ownSettings, workspaceSettings } from "../../../../editors/vscode/src/settings";

const manifest = JSON.parse(fs.readFileSync(path.join(process.env.PROMPTLS_REPOSITORY as string, "editors/vscode/package.json"), "utf8"));
const all = declared(manifest);

function inspector(values: Record<string, Inspected>) {
  return (key: string): Inspected | undefined => values[key] ?? {};
}

test("the server's settings are those that are generated, not the editor's", () => {
  const keys = all.map((setting) => setting.key);
  assert.ok(keys.includes("budget.tokens") && keys.includes("languageModel.use"));
  assert.ok(!keys.some((key) => /^(server|trace|editor)\./.test(key)));
});

test("the user's own are those that differ from the default, nested", () => {
  const own = ownSettings(all, inspector({
    "budget.tokens": { globalValue: 4000 },
    "budget.counter": { globalValue: "auto" },
    "index.exclude": { globalValue: ["gen/"] },
    "languageModel.use": { globalValue: "editor" },
    "retrieval.variant": { workspaceValue: "strict" },
  }));
  assert.deepEqual(own, { budget: { tokens: 4000 }, index: { exclude: ["gen/"] }, languageModel: { use: "editor" } });
});

test("the workspace's are told as they stand, the folder's first, even where they are the default", () => {
  const found = workspaceSettings(all, inspector({
    "budget.tokens": { globalValue: 4000, workspaceValue: 0 },
    "retrieval.variant": { workspaceValue: "strict", workspaceFolderValue: "citation" },
  }));
  assert.deepEqual(found, { budget: { tokens: 0 }, retrieval: { variant: "citation" } });
});

test("a workspace setting that is gone is noticed, a changed or new one is not lost", () => {
  assert.equal(lost({ budget: { tokens: 1 } }, {}), true);
  assert.equal(lost({ budget: { tokens: 1 } }, { budget: { tokens: 2 }, index: { workers: 1 } }), false);
});
