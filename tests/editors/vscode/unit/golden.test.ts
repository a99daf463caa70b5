// Golden messages of the server, rendered by the functions that show them.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { errorSentence } from "../../../../editors/vscode/src/errors";
import * as format from "../../../../editors/vscode/src/format";
import { explanationPage, graphPage, mentionKindsPage } from "../../../../editors/vscode/src/info_pages";
import { previewPage, promptText } from "../../../../editors/vscode/src/preview/preview_page";
import type * as wire from "../../../../editors/vscode/src/protocol";
import { type Html, PageLinks, escapeHtml, renderPage } from "../../../../editors/vscode/src/webview/html";

const folder = path.join(process.env.PROMPTLS_REPOSITORY as string, "tests/protocol");
const cases = JSON.parse(fs.readFileSync(path.join(folder, "cases.json"), "utf8")) as { name: string; method: string }[];

/** Checks by method.  A method without a check must be listed in `UNUSED_METHODS`, so that new methods are noticed. */
const CHECKS: Record<string, (result: never) => void> = {
  buildPrompt(result: wire.BuildResult) {
    const links = new PageLinks();
    const rendered = renderWhole(previewPage(result, links));
    assert.ok(promptText(result).length > 0);
    for (const text of [result.prompt, ...(result.messages ?? []).map((m) => m.content)]) {
      if (text !== undefined) assert.ok(rendered.includes(escapeHtml(text)), "the text is complete");
    }
    for (const [name, tokens] of Object.entries(result.tokens.sections)) {
      if (tokens > 0) assert.ok(rendered.includes(`<title>${name}: ${format.formatCount(tokens)}</title>`), `${name} is in the bar`);
    }
    for (const item of result.items) assert.ok(rendered.includes(escapeHtml(format.formatLocation(item.path, item.range))), item.path);
    for (const one of result.omitted) assert.ok(rendered.includes(escapeHtml(one.reason)), one.reason);
    for (const one of result.mentions) assert.ok(rendered.includes(`<code>${escapeHtml(one.text)}</code> <span class="badge ${one.status === "included" ? "good" : "bad"}">${one.status}`));
    for (const one of result.warnings) assert.ok(rendered.includes(escapeHtml(one)), one);
    assert.ok(rendered.includes(escapeHtml(result.trace.line)));
    const expected = result.items.length + result.omitted.length + result.mentions.filter((m) => m.targets.length).length;
    assert.equal(links.locations.length, expected, "each item can be opened");
    assert.match(format.formatTokenUsage(result.tokens), /^[\d,]+ of [\d,]+ tokens \(.+\)$/);
  },
  search({ hits }: wire.SearchResult) {
    assert.ok(hits.length > 0);
    for (const hit of hits) {
      const { label, description, detail } = format.hitLabel(hit);
      assert.match(label, /^\$\([a-z-]+\) \S/);
      assert.equal(description, `${hit.path}:${hit.range.start.line + 1}–${hit.range.end.line}`);
      assert.match(detail, /score \d\.\d\d: \w/);
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
  explain(explanation: wire.Explanation) {
    const links = new PageLinks();
    const rendered = renderWhole(explanationPage(explanation, links));
    if (explanation.node === undefined) {
      assert.ok(rendered.includes(escapeHtml(explanation.problem as string)));
      assert.deepEqual(links.symbols, explanation.suggestions);
    } else {
      assert.ok(rendered.includes(`<h1>${escapeHtml(format.nodeName(explanation.node))} `));
      for (const child of explanation.children ?? []) assert.ok(rendered.includes(escapeHtml(format.nodeName(child))));
      assert.equal(links.locations.length, 1 + (explanation.children?.length ?? 0));
    }
  },
  graph(graph: wire.Graph) {
    const links = new PageLinks();
    const rendered = renderWhole(graphPage(graph, "missed pings", links));
    for (const node of graph.nodes) assert.ok(rendered.includes(escapeHtml(format.formatLocation(node.path, node.range))), node.id);
    assert.equal(links.locations.length, graph.layers.flatMap((layer) => layer.nodes).length + graph.edges.length);
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
  mentionKinds(result: wire.MentionKinds) {
    const rendered = renderWhole(mentionKindsPage(result));
    for (const kind of result.kinds) assert.ok(kind.syntax.every((one) => rendered.includes(`<code>${escapeHtml(one)}</code>`)));
  },
};

/** Methods that this extension does not show. */
const UNUSED_METHODS = ["callTool", "list", "models", "profiles", "read", "reindex", "resolveMentions", "verifyCitations"];

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

/** Render the document of a webview and check that values of the server are escaped. */
function renderWhole(body: Html): string {
  const rendered = renderPage({ title: "t", body, nonce: "n", cspSource: "s", styleUri: "style", scriptUri: "script" });
  assert.equal(rendered.match(/<script/g)?.length, 1);
  assert.doesNotMatch(rendered, /<context-/);
  return rendered;
}
