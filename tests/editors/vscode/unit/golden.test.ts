// Golden messages of the server, rendered by the functions that show them.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { errorSentence } from "../../../../editors/vscode/src/errors";
import * as format from "../../../../editors/vscode/src/format";
import type * as wire from "../../../../editors/vscode/src/protocol";

const folder = path.join(process.env.PROMPTLS_REPOSITORY as string, "tests/protocol");
const cases = JSON.parse(fs.readFileSync(path.join(folder, "cases.json"), "utf8")) as { name: string; method: string }[];

/** Checks by method.  A method without a check must be listed in `UNUSED_METHODS`, so that new methods are noticed. */
const CHECKS: Record<string, (result: never) => void> = {
  buildPrompt(result: wire.BuildResult) {
    const texts = [result.prompt, ...(result.messages ?? []).map((m) => m.content)].filter((text) => text !== undefined);
    assert.ok(texts.length > 0);
    for (const text of texts) assert.ok(format.promptText(result).includes(text), "the text is complete");
    assert.match(format.formatTokenUsage(result.tokens), /^[\d,]+ of [\d,]+ tokens \(.+\)$/);
    const missing = result.mentions.filter((m) => !["included", "partial"].includes(m.status));
    assert.equal(format.missingMentions(result) === "", missing.length === 0);
  },
  search({ hits }: wire.SearchResult) {
    assert.ok(hits.length > 0);
    for (const hit of hits) {
      const { label, description, detail } = format.hitLabel(hit);
      assert.match(label, /^\$\([a-z-]+\) \S/);
      assert.equal(description, `${hit.path}:${hit.range.start.line + 1}–${hit.range.end.line}`);
      assert.equal(detail, `${hit.kind}, ${hit.why}`);
    }
  },
  status(status: wire.Status) {
    const content = format.statusBarContent("running", status);
    assert.equal(content.text, "$(mention) promptls");
    assert.ok(content.tooltip.startsWith(status.message));
    assert.match(content.tooltip, /\d files?, \d+ symbols?\./);
  },
  completeMention({ items }: wire.CompletionList) {
    assert.ok(items.length > 0);
    for (const item of items) {
      const { label, description } = format.completionLabel(item);
      assert.ok(label.endsWith(item.label));
      if (item.tokens) assert.ok(description.includes(`${format.formatCount(item.tokens)} tokens`));
    }
  },
  memory({ entries }: wire.MemoryResult) {
    for (const entry of entries) {
      const { label, description, detail } = format.memoryLabel(entry);
      assert.deepEqual([label, detail], [entry.title, entry.content]);
      assert.ok(description.includes(entry.category));
    }
  },
  recipes({ recipes }: wire.RecipeList) {
    assert.ok(recipes.length > 0);
    for (const recipe of recipes) {
      assert.deepEqual(Object.values(format.recipeLabel(recipe)).every(Boolean), true);
      for (const argument of recipe.arguments) assert.ok(Array.isArray(argument.choices));
    }
  },
  explainIgnore(verdict: wire.IgnoreVerdict) {
    assert.match(format.ignoreMessage("dist/bundle.js", verdict), /^dist\/bundle\.js is not indexed: .+[^.]\.$/);
  },
};

/** Methods that this extension does not send, or whose results it shows as pages of the server. */
const UNUSED_METHODS = ["callTool", "explain", "graph", "list", "mentionKinds", "models", "profiles", "read", "reindex", "resolveMentions", "verifyCitations"];

for (const testCase of cases) {
  test(`golden message ${testCase.name} is rendered`, () => {
    const message = JSON.parse(fs.readFileSync(path.join(folder, "golden", `${testCase.name}.json`), "utf8"));
    const method = testCase.method.replace("promptls/", "");
    if ("error" in message) {
      assert.equal(errorSentence(message.error), message.error.message);
      return;
    }
    const check = CHECKS[method];
    if (check === undefined) assert.ok(UNUSED_METHODS.includes(method), `no check for ${testCase.method}`);
    else check(message.result as never);
  });
}
