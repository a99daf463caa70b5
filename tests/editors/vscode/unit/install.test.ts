// The private environment, with a real Python: made, or gone without a trace.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { Cancelled, UserError } from "../../../../editors/vscode/src/errors";
import { type Plan, install } from "../../../../editors/vscode/src/install";
import { type Token, run } from "../../../../editors/vscode/src/process";

function plan(more: Partial<Plan> = {}): Plan {
  const folder = fs.mkdtempSync(path.join(process.env.PROMPTLS_WORK ?? os.tmpdir(), "install-"));
  return { environment: path.join(folder, "server"), requirement: "./nothing-here", python: "", path: process.env.PATH as string, windows: false, ...more };
}

/** A token that is cancelled by `cancel`. */
function token(): Token & { cancel(): void } {
  const listeners = new Set<() => void>();
  let cancelled = false;
  return {
    get isCancellationRequested() {
      return cancelled;
    },
    onCancellationRequested(listener) {
      listeners.add(listener);
      return { dispose: () => void listeners.delete(listener) };
    },
    cancel() {
      cancelled = true;
      for (const listener of listeners) listener();
    },
  };
}

test("an install that fails says at which step and leaves nothing", async () => {
  const wanted = plan({ requirement: "/nothing/here.whl" });
  await assert.rejects(install(wanted, token(), () => {}), (error: Error) => error instanceof UserError && /Could not install \/nothing\/here\.whl: .+\. The log has more\.$/.test(error.message));
  assert.equal(fs.existsSync(wanted.environment), false);
});

test("an install that is cancelled ends its programs and leaves nothing", async () => {
  const wanted = plan();
  const stop = token();
  const lines: string[] = [];
  const running = install(wanted, stop, (line) => {
    lines.push(line);
    if (line.includes("-m venv")) stop.cancel();
  });
  await assert.rejects(running, Cancelled);
  assert.equal(fs.existsSync(wanted.environment), false);
  assert.equal(lines.some((line) => line.includes("pip install")), false);
});

test("no Python, a wrong Python and an empty requirement are told", async () => {
  await assert.rejects(install(plan({ path: "/nowhere" }), token(), () => {}), /needs Python 3\.10 to 3\.13/);
  await assert.rejects(install(plan({ python: "/bin/false" }), token(), () => {}), /promptls\.server\.python names \/bin\/false/);
  await assert.rejects(install(plan({ requirement: " " }), token(), () => {}), /promptls\.server\.package is empty/);
});

test("Python does not take modules from where the editor stands", async () => {
  const wanted = plan({ requirement: "/nothing/here.whl" });
  const trap = fs.mkdtempSync(path.join(process.env.PROMPTLS_WORK ?? os.tmpdir(), "trap-"));
  fs.writeFileSync(path.join(trap, "venv.py"), "raise SystemExit('the trap has sprung')\n");
  const here = process.cwd();
  process.chdir(trap);
  try {
    await assert.rejects(install(wanted, token(), () => {}), (error: Error) => !error.message.includes("trap") && error.message.includes("/nothing/here.whl"));
  } finally {
    process.chdir(here);
  }
});

test("a program's streams are told line by line, its end by code", async () => {
  const lines: string[] = [];
  const ran = await run("/bin/sh", ["-c", "echo one; echo two >&2; printf three; exit 3"], { onLine: (line) => lines.push(line) });
  assert.deepEqual([ran.code, lines.sort()], [3, ["one", "three", "two"]]);
});
