// Installation of the server into a private virtual environment with uv or else pip, on the user's request only.

import * as fs from "node:fs/promises";
import * as path from "node:path";
import { UserError } from "./errors";
import { type Machine, executablePath, findProgram } from "./locate_server";
import { type CancellationToken, runProcess } from "./process";

export interface InstallOptions extends Machine {
  /** Folder of the environment; an existing one is replaced. */
  environment: string;
  /** A wheel, a clone or a requirement. */
  requirement: string;
  /** Python to use; "": the first supported version. */
  python: string;
}

export interface InstallProgress {
  /** Called at the start of each step: "2/3 install promptls.whl". */
  onStep(step: string): void;
  /** Called with each line of output. */
  onLine(line: string): void;
}

/** A title, a program and its arguments. */
type Step = [title: string, command: string, ...args: string[]];

const CHECK_VERSION = "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))";
const PYTHON_NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/**
 * Create the environment and install the server.  A failed or cancelled installation leaves no files.
 * Throws `UserError` and `CancelledError`.
 */
export async function installServer(
  options: InstallOptions,
  token: CancellationToken,
  progress: InstallProgress,
): Promise<void> {
  const { environment, requirement, windows } = options;
  await fs.mkdir(path.dirname(environment), { recursive: true });
  const environmentPython = executablePath(environment, "python", windows);
  const install = `install ${path.basename(requirement)}`;
  const check: Step = ["start the server", executablePath(environment, "promptls", windows), "--version"];
  const uv = findProgram("uv", options);
  if (uv !== undefined) {
    try {
      await runSteps(options, token, progress, [
        ["create the environment", uv, "venv", "--python", options.python.trim() || ">=3.10,<3.15", environment],
        [install, uv, "pip", "install", "--python", environmentPython, requirement],
        check,
      ]);
      return;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      progress.onLine(`${error.message} Trying pip.`); // it can have other settings, such as a package index
    }
  }
  const python = await findPython(options, token);
  await runSteps(options, token, progress, [
    ["create the environment", python, "-m", "venv", environment],
    [install, environmentPython, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement],
    check,
  ]);
}

async function findPython(options: InstallOptions, token: CancellationToken): Promise<string> {
  const setting = options.python.trim();
  if (setting) {
    if (await isSupportedPython(setting, options, token)) return setting;
    throw new UserError(`promptls.server.python: ${setting} is not Python 3.10 to 3.14. Correct or clear the setting.`);
  }
  for (const name of PYTHON_NAMES) {
    const python = findProgram(name, options);
    if (python !== undefined && (await isSupportedPython(python, options, token))) return python;
  }
  throw new UserError("Neither uv nor Python 3.10 to 3.14 was found. Install one, or set promptls.server.python.");
}

async function isSupportedPython(python: string, options: InstallOptions, token: CancellationToken): Promise<boolean> {
  try {
    const cwd = path.dirname(options.environment);
    return (await runProcess(python, ["-c", CHECK_VERSION], { token, cwd })).exitCode === 0;
  } catch (error) {
    if (token.isCancellationRequested) throw error;
    return false;
  }
}

/**
 * Run the steps of an installation into a new environment, and remove it if one fails.
 *
 * The working directory is the parent of the environment: Python imports modules from the working directory, so it
 * must not be a workspace.
 */
async function runSteps(
  { environment }: InstallOptions,
  token: CancellationToken,
  { onStep, onLine }: InstallProgress,
  steps: readonly Step[],
): Promise<void> {
  await fs.rm(environment, { recursive: true, force: true });
  try {
    for (const [i, [title, command, ...args]] of steps.entries()) {
      onStep(`${i + 1}/${steps.length} ${title}`);
      onLine(`> ${command} ${args.join(" ")}`);
      const { exitCode, output } = await runProcess(command, args, { token, cwd: path.dirname(environment), onLine }).catch(
        (error: Error) => {
          if (token.isCancellationRequested) throw error;
          throw new UserError(`Could not ${title}: ${error.message}.`);
        },
      );
      if (exitCode !== 0) throw new UserError(`Could not ${title}: ${failureReason(output)} See the log.`);
    }
  } catch (error) {
    await fs.rm(environment, { recursive: true, force: true });
    throw error;
  }
}

/** Return the last line of a failed program's output that names an error, else the last line. */
function failureReason(output: string): string {
  const lines = output.split("\n").map((line) => line.trim()).filter(Boolean);
  const error = lines.findLast((line) => /^(error|\w*(error|exception)):/i.test(line) && !/exited-with-error/.test(line));
  return (error ?? lines.at(-1) ?? "no output").replace(/[.!]*$/, ".");
}
