// Webview pages: escaping, link targets and content security policy.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { previewPage } from "../../../../editors/vscode/src/preview/preview_page";
import type { BuildResult } from "../../../../editors/vscode/src/protocol";
import { PageLinks, html, renderPage } from "../../../../editors/vscode/src/webview/html";

const MALICIOUS = `"><img src=x onerror="alert(1)"><script>alert(2)</script>'`;
const range = { start: { line: 0, character: 0 }, end: { line: 3, character: 0 } };

const maliciousResult: BuildResult = {
  prompt: MALICIOUS,
  tokens: { budget: 100, used: 90, counter: MALICIOUS, exact: false, sections: { [MALICIOUS]: 90 } },
  items: [
    {
      uri: `javascript:${MALICIOUS}`,
      path: MALICIOUS,
      range,
      kind: MALICIOUS,
      origin: MALICIOUS,
      score: 1,
      reasons: { [MALICIOUS]: 1 },
      version: 3,
      symbol: MALICIOUS,
      form: MALICIOUS,
      tokens: 5,
      citation: MALICIOUS,
    },
  ],
  omitted: [{ uri: `file:///${MALICIOUS}`, range, reason: MALICIOUS, tokens: 1 }],
  mentions: [
    {
      text: MALICIOUS,
      kind: MALICIOUS,
      status: MALICIOUS,
      targets: [],
      tokens: 0,
      reason: MALICIOUS,
      suggestion: MALICIOUS,
      candidates: [MALICIOUS],
    },
  ],
  droppedCount: 1,
  trace: { line: MALICIOUS },
  index: { state: "indexing", complete: 0.5, message: MALICIOUS },
  warnings: [MALICIOUS],
};

const page = { title: "t", nonce: "n", cspSource: "s", styleUri: "style", scriptUri: "script" };

test("values of the server are escaped in the preview", () => {
  const rendered = renderPage({ ...page, title: MALICIOUS, body: previewPage(maliciousResult, new PageLinks()) });
  assert.doesNotMatch(rendered, /<img/);
  assert.equal(rendered.match(/<script/g)?.length, 1);
  for (const tag of rendered.match(/<[a-z][^>]*>/g) ?? []) {
    assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), /alert|onerror/, tag);
  }
});

test("a page contains indices of locations, not URIs", () => {
  const links = new PageLinks();
  const rendered = previewPage(maliciousResult, links).html;
  assert.doesNotMatch(rendered, /javascript:/);
  assert.deepEqual(links.locations.map((location) => location.uri), [`javascript:${MALICIOUS}`, `file:///${MALICIOUS}`]);
  assert.match(rendered, /data-open="0"/);
});

test("the content security policy allows only scripts of the extension, and pages have no inline styles", () => {
  const rendered = renderPage({
    ...page,
    body: previewPage(maliciousResult, new PageLinks()),
    nonce: "abc",
    cspSource: "https://here",
    styleUri: "https://here/s.css",
    scriptUri: "https://here/s.js",
  });
  assert.match(rendered, /default-src &#39;none&#39;/);
  assert.match(rendered, /script-src &#39;nonce-abc&#39;/);
  assert.doesNotMatch(rendered, /unsafe/);
  assert.doesNotMatch(rendered, /\sstyle=|<style|\son\w+=(?!&)/);
});

test("template values are escaped once, nested templates are not escaped again", () => {
  assert.equal(
    html`<p>${"a & b"}${html`<b>${"<"}</b>`}${[html`<i>${1}</i>`, false, undefined]}</p>`.html,
    "<p>a &amp; b<b>&lt;</b><i>1</i></p>",
  );
});

test("a prompt of an incomplete index says that it is built again", () => {
  const warnings = ["23 % of 2,804 files are indexed.", "other"];
  const index = { ...maliciousResult.index, complete: 0.23 };
  const rendered = previewPage({ ...maliciousResult, warnings, index }, new PageLinks()).html;
  assert.match(rendered, /are indexed\.<\/li><li>The prompt is built again when the index is complete\.<\/li><li>other/);
});

test("the token bar has a fixed size for any budget", () => {
  const tokens = { ...maliciousResult.tokens, budget: 0, sections: { context: 10 } };
  assert.match(previewPage({ ...maliciousResult, tokens }, new PageLinks()).html, /viewBox="0 0 100 10"/);
});
