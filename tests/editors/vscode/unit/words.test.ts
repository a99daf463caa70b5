// Mentions, places and states as they are written.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { lspDiagnostics } from "../../../../editors/vscode/src/diagnostics";
import { Cancelled, isCancelled, isLost, sentence } from "../../../../editors/vscode/src/errors";
import { fileName, lines, shortPath, statusLine, verdict } from "../../../../editors/vscode/src/format";
import { mentionOf } from "../../../../editors/vscode/src/mention";
import { plainText } from "../../../../editors/vscode/src/plain";

function range(start: number, end: number, character = 0) {
  return { start: { line: start, character: 0 }, end: { line: end, character } };
}

test("a mention of lines counts from 1, and a line that is only touched is not in it", () => {
  assert.equal(mentionOf("shop/cart.py", range(24, 29)), "@shop/cart.py:25-29");
  assert.equal(mentionOf("shop/cart.py", range(24, 28, 7)), "@shop/cart.py:25-29");
  assert.equal(mentionOf("shop/cart.py", range(4, 4, 9)), "@shop/cart.py:5");
});

test("names that could be mistaken are quoted", () => {
  assert.equal(mentionOf("with spaces.py", range(0, 2)), '@"with spaces.py":1-2');
  assert.equal(mentionOf('a"b\\c.py'), '@"a\\"b\\\\c.py"');
  assert.equal(mentionOf("@scope.ts", range(0, 1)), '@"@scope.ts":1');
  assert.equal(mentionOf("lib/é.py", undefined, "my app"), '@"my app":"lib/é.py"');
  assert.equal(mentionOf("map", range(0, 1)), '@"map":1');
  assert.equal(mentionOf("t.py", range(0, 1), "tests"), '@"tests":t.py:1');
});

test("lines of a region are inclusive, and an open end says so", () => {
  assert.equal(lines(range(0, 19)), "1–19");
  assert.equal(lines(range(3, 4)), "4");
  assert.equal(lines(range(3, 3)), "4");
  assert.equal(lines(range(0, 2 ** 31 - 1)), "");
});

test("paths are shown below their workspace folder", () => {
  assert.equal(shortPath("file:///home/a/shop/shop/my%20cart.py", ["file:///home/a/shop"]), "shop/my cart.py");
  assert.equal(shortPath("file:///home/a/shop2/x.py", ["file:///home/a/shop"]), "/home/a/shop2/x.py");
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

test("the status line tells each state by word and by level", () => {
  assert.equal(statusLine("missing", undefined, "It is not there.").level, "warning");
  assert.equal(statusLine("failed", undefined, "It broke.").tooltip, "It broke.");
  assert.match(statusLine("starting", undefined).text, /spin/);
  assert.equal(statusLine("running", status).text, "$(mention) promptls");
  const busy = { ...status, state: "indexing", complete: 0.609 };
  assert.match(statusLine("running", busy).text, /60 %/);
  const ill = { ...status, state: "degraded", embedder: { model: "bundled", problem: "No vectors." } };
  assert.deepEqual([statusLine("running", ill).level, statusLine("running", ill).tooltip.includes("No vectors.")], ["warning", true]);
});

test("a verdict is one sentence", () => {
  assert.equal(verdict("a.py", { indexed: true, reason: "" }), "a.py is indexed.");
  assert.equal(verdict("b.txt", { indexed: false, reason: "a rule ignores it." }), "b.txt is not indexed: a rule ignores it.");
});

test("terminal output loses its colours, titles and what was written over", () => {
  const raw = "\u001b]633;C\u0007\u001b[31mFAILED\u001b[0m test_cart\r\n10 %\r50 %\r100 %\r\n\u001b[?2004hok\u0008\r\n";
  assert.equal(plainText(raw), "FAILED test_cart\n100 %\nok\n");
});

test("diagnostics are told as the protocol has them, without our own", () => {
  const at = range(1, 1, 4);
  assert.deepEqual(
    lspDiagnostics([
      { range: at, message: "bad", severity: 0, source: "mypy", code: { value: "no-any" } },
      { range: at, message: "hint", severity: 3 },
      { range: at, message: "unresolved", severity: 0, source: "promptls", code: "unresolved" },
    ]),
    [
      { range: at, message: "bad", severity: 1, code: "no-any", source: "mypy" },
      { range: at, message: "hint", severity: 4 },
    ],
  );
});

test("errors become one sentence; what was cancelled and what was lost is told apart", () => {
  assert.equal(sentence(new Error("It broke")), "It broke.");
  assert.equal(sentence({ message: "message: must not be blank." }), "message: must not be blank.");
  assert.equal(sentence(new Error("first\nTraceback…")), "first.");
  assert.ok(isCancelled(new Cancelled()) && isCancelled({ code: -32800 }) && !isCancelled(new Error("x")));
  assert.ok(isLost({ code: -32097, message: "Pending response rejected since connection got disposed" }));
  assert.ok(isLost(new Error("write EPIPE")) && !isLost({ code: -32602, message: "x" }));
});
