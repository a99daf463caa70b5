// The messages that the real server has given, through everything that shows them.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { sentence } from "../../../../editors/vscode/src/errors";
import * as format from "../../../../editors/vscode/src/format";
import { explanationPage, graphPage, kindsPage } from "../../../../editors/vscode/src/pages";
import { preview, promptText } from "../../../../editors/vscode/src/preview/render";
import type * as wire from "../../../../editors/vscode/src/protocol";
import { Places, escape, page } from "../../../../editors/vscode/src/view/html";

const folder = path.join(process.env.PROMPTLS_REPOSITORY as string, "tests/protocol");
const cases = JSON.parse(fs.readFileSync(path.join(folder, "cases.json"), "utf8")) as { name: string; method: string }[];

/** Every method that this client shows; what is not here must stand in UNSHOWN, so that nothing new is passed over. */
const SHOWN: Record<string, (result: never) => void> = {
  buildPrompt(built: wire.Built) {
    const places = new Places();
    const shown = whole(preview(built, places));
    assert.ok(promptText(built).length > 0);
    for (const text of [built.prompt, ...(built.messages ?? []).map((m) => m.content)]) {
      if (text !== undefined) assert.ok(shown.includes(escape(text)), "the text stands there whole");
    }
    for (const [name, tokens] of Object.entries(built.tokens.sections)) {
      if (tokens > 0) assert.ok(shown.includes(`<title>${name}: ${format.count(tokens)}</title>`), `${name} is in the bar`);
    }
    for (const item of built.items) assert.ok(shown.includes(escape(format.where(item.path, item.range))), item.path);
    for (const one of built.omitted) assert.ok(shown.includes(escape(one.reason)), one.reason);
    for (const one of built.mentions) assert.ok(shown.includes(`<code>${escape(one.text)}</code> <span class="badge ${one.status === "included" ? "good" : "bad"}">${one.status}`));
    for (const one of built.warnings) assert.ok(shown.includes(escape(one)), one);
    assert.ok(shown.includes(escape(built.trace.line)));
    const wanted = built.items.length + built.omitted.length + built.mentions.filter((m) => m.targets.length).length;
    assert.equal(places.all.length, wanted, "each region can be opened");
    assert.match(format.spent(built.tokens), /^[\d,]+ of [\d,]+ tokens \(.+\)$/);
  },
  search({ hits }: wire.Hits) {
    assert.ok(hits.length > 0);
    for (const hit of hits) {
      const { label, description, detail } = format.hitLabel(hit);
      assert.match(label, /^\$\([a-z-]+\) \S/);
      assert.equal(description, `${hit.path}:${hit.range.start.line + 1}–${hit.range.end.line}`);
      assert.match(detail, /score \d\.\d\d: \w/);
    }
  },
  status(status: wire.Status) {
    const line = format.statusLine("running", status);
    assert.equal(line.text, "$(mention) promptls");
    assert.ok(line.tooltip.startsWith(status.message));
    assert.match(line.tooltip, /\d files?, \d+ symbols?\./);
  },
  completeMention({ items }: wire.Completions) {
    assert.ok(items.length > 0);
    for (const item of items) {
      const { label, description } = format.completionLabel(item);
      assert.ok(label.endsWith(item.label));
      if (item.tokens) assert.ok(description.includes(`${format.count(item.tokens)} tokens`));
    }
  },
  explain(found: wire.Explanation) {
    const places = new Places();
    const shown = whole(explanationPage(found, places));
    if (found.node === undefined) {
      assert.ok(shown.includes(escape(found.problem as string)));
      assert.deepEqual(places.names, found.suggestions);
    } else {
      assert.ok(shown.includes(`<h1>${escape(format.nodeName(found.node))} `));
      for (const child of found.children ?? []) assert.ok(shown.includes(escape(format.nodeName(child))));
      assert.equal(places.all.length, 1 + (found.children?.length ?? 0));
    }
  },
  graph(graph: wire.Graph) {
    const places = new Places();
    const shown = whole(graphPage(graph, "missed pings", places));
    for (const node of graph.nodes) assert.ok(shown.includes(escape(format.where(node.path, node.range))), node.id);
    assert.equal(places.all.length, graph.layers.flatMap((layer) => layer.nodes).length + graph.edges.length);
  },
  memory({ entries }: wire.Memory) {
    for (const entry of entries) {
      const { label, description, detail } = format.memoryLabel(entry);
      assert.deepEqual([label, detail], [entry.title, entry.content]);
      assert.ok(description.includes(entry.category));
    }
  },
  recipes({ recipes }: wire.Recipes) {
    assert.ok(recipes.length > 0);
    for (const recipe of recipes) {
      assert.deepEqual(Object.values(format.recipeLabel(recipe)).every(Boolean), true);
      for (const argument of recipe.arguments) assert.ok(Array.isArray(argument.choices));
    }
  },
  explainIgnore(verdict: wire.IgnoreVerdict) {
    assert.match(format.verdict("dist/bundle.js", verdict), /^dist\/bundle\.js is not indexed: .+[^.]\.$/);
  },
  mentionKinds(all: wire.MentionKinds) {
    const shown = whole(kindsPage(all));
    for (const kind of all.kinds) assert.ok(kind.syntax.every((one) => shown.includes(`<code>${escape(one)}</code>`)));
  },
};

/** Asked by nobody here. */
const UNSHOWN = ["models", "profiles", "reindex", "resolveMentions", "verifyCitations"];

for (const one of cases) {
  test(`golden message ${one.name} is shown`, () => {
    const message = JSON.parse(fs.readFileSync(path.join(folder, "golden", `${one.name}.json`), "utf8"));
    const method = one.method.replace("promptls/", "");
    if ("error" in message) {
      assert.equal(sentence(message.error), message.error.message);
      return;
    }
    const show = SHOWN[method];
    if (show === undefined) assert.ok(UNSHOWN.includes(method), `nothing shows what ${one.method} answers`);
    else show(message.result as never);
  });
}

/** The page as the webview gets it; what came from outside has not opened a tag of its own. */
function whole(body: ReturnType<typeof preview>): string {
  const shown = page({ title: "t", body, nonce: "n", source: "s", style: "style", script: "script" });
  assert.equal(shown.match(/<script/g)?.length, 1);
  assert.doesNotMatch(shown, /<context-/);
  return shown;
}
