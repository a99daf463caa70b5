// Installation into the private environment with a real Python: complete, or without leftovers.

import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { CancelledError, UserError } from "../../../../editors/vscode/src/errors";
import { type InstallOptions, installServer } from "../../../../editors/vscode/src/install_server";
import { type CancellationToken, runProcess } from "../../../../editors/vscode/src/process";

const MISSING_WHEEL = "/nothing/here.whl";

function temporaryFolder(prefix: string): string {
  return fs.mkdtempSync(path.join(process.env.PROMPTLS_WORK ?? os.tmpdir(), prefix));
}

function installOptions(more: Partial<InstallOptions> = {}): InstallOptions {
  return {
    environment: path.join(temporaryFolder("install-"), "server"),
    requirement: "./nothing-here",
    python: "",
    path: process.env.PATH as string,
    windows: false,
    ...more,
  };
}

function createToken(): CancellationToken & { cancel(): void } {
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

const ignoreOutput = () => {};

test("a failed installation reports the step and leaves no files", async () => {
  const options = installOptions({ requirement: MISSING_WHEEL });
  await assert.rejects(
    installServer(options, createToken(), ignoreOutput),
    (error: Error) =>
      error instanceof UserError && /^Could not install \/nothing\/here\.whl: .+\. See the log\.$/.test(error.message),
  );
  assert.equal(fs.existsSync(options.environment), false);
});

test("a cancelled installation terminates its processes and leaves no files", async () => {
  const options = installOptions();
  const token = createToken();
  const lines: string[] = [];
  const running = installServer(options, token, (line) => {
    lines.push(line);
    if (line.includes("-m venv")) token.cancel();
  });
  await assert.rejects(running, CancelledError);
  assert.equal(fs.existsSync(options.environment), false);
  assert.equal(lines.some((line) => line.includes("pip install")), false);
});

test("a missing Python, an unsupported Python and an empty requirement are reported", async () => {
  const install = (more: Partial<InstallOptions>) => installServer(installOptions(more), createToken(), ignoreOutput);
  await assert.rejects(install({ path: "/nowhere" }), /Python 3\.10 to 3\.14 was not found on PATH/);
  await assert.rejects(install({ python: "/bin/false" }), /promptls\.server\.python: \/bin\/false is not Python 3\.10/);
  await assert.rejects(install({ requirement: " " }), /promptls\.server\.package is empty/);
});

test("Python imports no modules from the working directory of the editor", async () => {
  const options = installOptions({ requirement: MISSING_WHEEL });
  const trap = temporaryFolder("trap-");
  fs.writeFileSync(path.join(trap, "venv.py"), "raise SystemExit('venv.py of the trap was imported')\n");
  const before = process.cwd();
  process.chdir(trap);
  try {
    await assert.rejects(
      installServer(options, createToken(), ignoreOutput),
      (error: Error) => !error.message.includes("trap") && error.message.includes(MISSING_WHEEL),
    );
  } finally {
    process.chdir(before);
  }
});

test("the output of a process is reported line by line, with its exit code", async () => {
  const lines: string[] = [];
  const result = await runProcess("/bin/sh", ["-c", "echo one; echo two >&2; printf three; exit 3"], {
    onLine: (line) => lines.push(line),
  });
  assert.deepEqual([result.exitCode, lines.sort()], [3, ["one", "three", "two"]]);
});
