// Installation into the private environment with a real Python: complete, or without leftovers.

import * as assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { CancelledError, UserError } from "../../../../editors/vscode/src/errors";
import { type InstallOptions, installServer } from "../../../../editors/vscode/src/install_server";
import { type CancellationToken, isExecutable, realPath, runProcess } from "../../../../editors/vscode/src/process";

const MISSING_WHEEL = "/nothing/here.whl";

function temporaryFolder(prefix: string): string {
  return fs.mkdtempSync(path.join(process.env.PROMPTLS_WORK ?? os.tmpdir(), prefix));
}

function installOptions(more: Partial<InstallOptions> = {}): InstallOptions {
  return {
    environment: path.join(temporaryFolder("install-"), "server"),
    requirement: "./nothing-here",
    python: "",
    folders: [],
    trusted: true,
    env: { PATH: process.env.PATH },
    home: "/nowhere",
    windows: false,
    isExecutable,
    realPath,
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

const ignoreOutput = { onStep() {}, onLine() {} };

/** Write a wheel of a program `promptls` without dependencies, and return its path. */
function writeWheel(): string {
  const file = path.join(temporaryFolder("wheel-"), "promptls-0.0.1-py3-none-any.whl");
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("small.py", "def main(): print('promptls 0.0.1')")
    info = "promptls-0.0.1.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: promptls\\nVersion: 0.0.1\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\\npromptls = small:main\\n")
    wheel.writestr(info + "RECORD", "small.py,,\\n")`;
  execFileSync("python3", ["-c", script, file]);
  return file;
}

test("uv installs a wheel in three steps, and pip if uv fails", async () => {
  const [tools, broken] = [temporaryFolder("uv-"), temporaryFolder("broken-uv-")];
  fs.symlinkSync(path.join(path.dirname(process.env.PROMPTLS_COMMAND as string), "uv"), path.join(tools, "uv"));
  fs.symlinkSync("/bin/false", path.join(broken, "uv"));
  for (const [folder, tool] of [[tools, "uv"], [broken, "pip"]] as const) {
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const options = installOptions({ requirement: writeWheel(), env });
    const steps: string[] = [];
    const lines: string[] = [];
    await installServer(options, createToken(), { onStep: (step) => steps.push(step), onLine: (line) => lines.push(line) });
    assert.deepEqual(steps.slice(-3), [
      "1/3 create the environment",
      "2/3 install promptls-0.0.1-py3-none-any.whl",
      "3/3 start the server",
    ]);
    assert.ok(fs.existsSync(path.join(options.environment, "bin/promptls")));
    const commands = lines.filter((line) => line.startsWith("> ") && line.includes(" install "));
    assert.match(commands.at(-1) as string, tool === "uv" ? /uv pip install/ : /-m pip install/);
    assert.equal(lines.at(-1), "promptls 0.0.1");
  }
});

test("a failed installation reports the step and leaves no files", async () => {
  const options = installOptions({ requirement: MISSING_WHEEL });
  await assert.rejects(
    installServer(options, createToken(), ignoreOutput),
    (error: Error) =>
      error instanceof UserError && /^Could not install here\.whl: .+\. See the log\.$/.test(error.message),
  );
  assert.equal(fs.existsSync(options.environment), false);
});

test("a cancelled installation terminates its processes and leaves no files", async () => {
  const options = installOptions();
  const token = createToken();
  const lines: string[] = [];
  const onLine = (line: string) => {
    lines.push(line);
    if (line.includes("-m venv")) token.cancel();
  };
  const running = installServer(options, token, { onStep() {}, onLine });
  await assert.rejects(running, CancelledError);
  assert.equal(fs.existsSync(options.environment), false);
  assert.equal(lines.some((line) => line.includes("-m pip install")), false); // uv, which is tried first, may have its own
});

test("a missing Python and an unsupported Python are reported", async () => {
  const install = (more: Partial<InstallOptions>) => installServer(installOptions(more), createToken(), ignoreOutput);
  await assert.rejects(install({ env: { PATH: "/nowhere" } }), /Neither uv nor Python 3\.10 to 3\.14 was found/);
  await assert.rejects(install({ python: "/bin/false" }), /promptls\.server\.python: \/bin\/false is not Python 3\.10/);
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
      (error: Error) => !error.message.includes("trap") && error.message.includes("here.whl"),
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
