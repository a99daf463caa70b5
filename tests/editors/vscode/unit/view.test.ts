// Pages let nothing through, and lead only where they were given to lead.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { preview } from "../../../../editors/vscode/src/preview/render";
import type { Built } from "../../../../editors/vscode/src/protocol";
import { Places, html, page } from "../../../../editors/vscode/src/view/html";

const EVIL = `"><img src=x onerror="alert(1)"><script>alert(2)</script>'`;
const range = { start: { line: 0, character: 0 }, end: { line: 3, character: 0 } };

const evil: Built = {
  prompt: EVIL,
  tokens: { budget: 100, used: 90, counter: EVIL, exact: false, sections: { [EVIL]: 90 } },
  items: [{ uri: `javascript:${EVIL}`, path: EVIL, range, kind: EVIL, origin: EVIL, score: 1, reasons: { [EVIL]: 1 }, version: 3, symbol: EVIL, form: EVIL, tokens: 5, citation: EVIL }],
  omitted: [{ uri: `file:///${EVIL}`, range, reason: EVIL, tokens: 1 }],
  mentions: [{ text: EVIL, kind: EVIL, status: EVIL, targets: [], tokens: 0, reason: EVIL, suggestion: EVIL, candidates: [EVIL] }],
  droppedCount: 1,
  trace: { line: EVIL },
  index: { state: "indexing", complete: 0.5, message: EVIL },
  warnings: [EVIL],
};

test("nothing from outside becomes markup in the preview", () => {
  const places = new Places();
  const shown = page({ title: EVIL, body: preview(evil, places), nonce: "n", source: "s", style: "style", script: "script" });
  assert.doesNotMatch(shown, /<img/);
  assert.equal(shown.match(/<script/g)?.length, 1);
  for (const tag of shown.match(/<[a-z][^>]*>/g) ?? []) {
    assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), /alert|onerror/, tag);
  }
});

test("a page holds numbers of places, never the places", () => {
  const places = new Places();
  const shown = preview(evil, places).html;
  assert.doesNotMatch(shown, /javascript:/);
  assert.deepEqual(places.all.map((place) => place.uri), [`javascript:${EVIL}`, `file:///${EVIL}`]);
  assert.match(shown, /data-open="0"/);
});

test("the policy lets in no script but ours, and no style in the markup", () => {
  const shown = page({ title: "t", body: preview(evil, new Places()), nonce: "abc", source: "https://here", style: "https://here/s.css", script: "https://here/s.js" });
  assert.match(shown, /default-src &#39;none&#39;/);
  assert.match(shown, /script-src &#39;nonce-abc&#39;/);
  assert.doesNotMatch(shown, /unsafe/);
  assert.doesNotMatch(shown, /\sstyle=|<style|\son\w+=(?!&)/);
});

test("values of a template are escaped once, pieces made here are not", () => {
  assert.equal(html`<p>${"a & b"}${html`<b>${"<"}</b>`}${[html`<i>${1}</i>`, false, undefined]}</p>`.html, "<p>a &amp; b<b>&lt;</b><i>1</i></p>");
});

test("the bar never leaves its frame, whatever the budget says", () => {
  const built = { ...evil, tokens: { ...evil.tokens, budget: 0, sections: { context: 10 } } };
  assert.match(preview(built, new Places()).html, /viewBox="0 0 100 10"/);
});
