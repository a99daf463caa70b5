// Formatting of mentions, locations, status, terminal output, diagnostics and errors.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { toLspDiagnostics } from "../../../../editors/vscode/src/diagnostics";
import { CancelledError, errorSentence, isCancelled, isConnectionLost } from "../../../../editors/vscode/src/errors";
import {
  completionLabel,
  fileName,
  formatLines,
  ignoreMessage,
  mentionSummary,
  missingMentions,
  statusBarContent,
  withoutMessages,
} from "../../../../editors/vscode/src/format";
import { formatMention } from "../../../../editors/vscode/src/mention";
import type { BuildResult } from "../../../../editors/vscode/src/protocol";
import { stripTerminalCodes } from "../../../../editors/vscode/src/terminal_text";

function range(start: number, end: number, character = 0) {
  return { start: { line: start, character: 0 }, end: { line: end, character } };
}

test("a mention counts lines from 1 and excludes a last line without selected characters", () => {
  assert.equal(formatMention("shop/cart.py", range(24, 29)), "@shop/cart.py:25-29");
  assert.equal(formatMention("shop/cart.py", range(24, 28, 7)), "@shop/cart.py:25-29");
  assert.equal(formatMention("shop/cart.py", range(4, 4, 9)), "@shop/cart.py:5");
});

test("ambiguous names are quoted in mentions", () => {
  assert.equal(formatMention("with spaces.py", range(0, 2)), '@"with spaces.py":1-2');
  assert.equal(formatMention('a"b\\c.py'), '@"a\\"b\\\\c.py"');
  assert.equal(formatMention("@scope.ts", range(0, 1)), '@"@scope.ts":1');
  assert.equal(formatMention("lib/é.py", undefined, "my app"), '@"my app":"lib/é.py"');
  assert.equal(formatMention("map", range(0, 1)), '@"map":1');
  assert.equal(formatMention("t.py", range(0, 1), "tests"), '@"tests":t.py:1');
});

test("mentions that are not in a prompt are named, a few of many", () => {
  const result = (...statuses: string[]) =>
    ({ mentions: statuses.map((status, i) => ({ text: `@${i}`, status })) }) as unknown as BuildResult;
  assert.equal(missingMentions(result("included", "partial")), "");
  const some = missingMentions(result("included", "unresolved", "ambiguous", "refused", "omitted"));
  assert.equal(some, "Not in the prompt: @1, @2, @3, @4.");
  assert.equal(missingMentions(result(...Array(7).fill("unresolved"))), "Not in the prompt: @0, @1, @2, @3, @4 and 2 more.");
});

test("lines are inclusive, and empty for a whole document", () => {
  assert.equal(formatLines(range(0, 19)), "1–19");
  assert.equal(formatLines(range(3, 4)), "4");
  assert.equal(formatLines(range(3, 3)), "4");
  assert.equal(formatLines(range(0, 2 ** 31 - 1)), "");
});

test("a file name is decoded", () => {
  assert.equal(fileName("file:///a/b%"), "b%");
});

const status = {
  state: "ready",
  complete: 1,
  generation: 1,
  roots: [{ uri: "", name: "shop", files: 10, symbols: 5, pending: 0, lastError: "" }],
  embedder: { model: "bundled", problem: "" },
  message: "10 files indexed.",
};

test("the status bar item shows each state by text and level", () => {
  assert.equal(statusBarContent("missing", undefined, "Not installed.").level, "warning");
  assert.equal(statusBarContent("failed", undefined, "It failed.").tooltip, "It failed.");
  assert.match(statusBarContent("starting", undefined).text, /spin.* promptls starting$/);
  assert.equal(statusBarContent("running", status).text, "$(mention) promptls");
  const indexing = { ...status, state: "indexing", complete: 0.609 };
  assert.match(statusBarContent("running", indexing).text, /60 %/);
  const degraded = { ...status, state: "degraded", embedder: { model: "bundled", problem: "No vectors." } };
  const content = statusBarContent("running", degraded);
  assert.deepEqual([content.level, content.tooltip.includes("No vectors.")], ["warning", true]);
});

test("an ignore message is one sentence", () => {
  assert.equal(ignoreMessage("a.py", { indexed: true, reason: "" }), "a.py is indexed.");
  assert.equal(ignoreMessage("b.txt", { indexed: false, reason: "a rule ignores it." }), "b.txt is not indexed: a rule ignores it.");
});

test("escape sequences and overwritten text are removed from terminal output", () => {
  const output = "\u001b]633;C\u0007\u001b[31mFAILED\u001b[0m test_cart\r\n10 %\r50 %\r100 %\r\n\u001b[?2004hok\u0008\r\n";
  assert.equal(stripTerminalCodes(output), "FAILED test_cart\n100 %\nok\n");
});

test("diagnostics are converted to LSP, without those of promptls", () => {
  const position = range(1, 1, 4);
  assert.deepEqual(
    toLspDiagnostics([
      { range: position, message: "bad", severity: 0, source: "mypy", code: { value: "no-any" } },
      { range: position, message: "hint", severity: 3 },
      { range: position, message: "unresolved", severity: 0, source: "promptls", code: "unresolved" },
    ]),
    [
      { range: position, message: "bad", severity: 1, code: "no-any", source: "mypy" },
      { range: position, message: "hint", severity: 4 },
    ],
  );
});

test("an error becomes one sentence", () => {
  assert.equal(errorSentence(new Error("It broke")), "It broke.");
  assert.equal(errorSentence({ message: "message: must not be blank." }), "message: must not be blank.");
  assert.equal(errorSentence(new Error("first\nTraceback…")), "first.");
});

test("cancelled requests and lost connections are recognized", () => {
  assert.ok(isCancelled(new CancelledError()) && isCancelled({ code: -32800 }) && !isCancelled(new Error("x")));
  assert.ok(isConnectionLost({ code: -32097, message: "Pending response rejected since connection got disposed" }));
  assert.ok(isConnectionLost(new Error("write EPIPE")) && !isConnectionLost({ code: -32602, message: "x" }));
});

test("names of the workspace show no icons and no links", () => {
  const name = "$(trash) [x](command:y)";
  const item = { label: name, insertText: "", detail: name, documentation: "", kind: "file", tokens: 1 };
  const mention = { text: name, status: "unresolved", reason: name, tokens: 0, kind: "", targets: [] };
  for (const text of [completionLabel(item).description, completionLabel(item).label.slice(8), mentionSummary([mention])]) {
    assert.doesNotMatch(text, /\$\(|\]\(/);
  }
});

test("a hover repeats no message, and never renders an image of a quoted name", () => {
  assert.equal(withoutMessages("`@b.py` is missing. See `@a.py`.", ["@b.py is missing."]), "See `@a.py`.");
  const quoted = "`@\"a. ![x](https://example.org/b.png)\"` is missing.";
  assert.equal(withoutMessages(quoted, ['@"a. and more']), quoted);
});
