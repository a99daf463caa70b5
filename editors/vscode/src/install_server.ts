// Installation of the server with pip into a private virtual environment, on the user's request only.

import * as fs from "node:fs/promises";
import * as path from "node:path";
import { UserError } from "./errors";
import { executablePath, findOnPath } from "./locate_server";
import { type CancellationToken, runProcess } from "./process";

export interface InstallOptions {
  /** Folder of the environment; an existing one is replaced. */
  environment: string;
  /** Requirement passed to pip. */
  requirement: string;
  /** Python to use; "": the first supported version on PATH. */
  python: string;
  /** Value of the PATH variable. */
  path: string;
  windows: boolean;
}

const CHECK_VERSION = "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))";
const PYTHON_NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/**
 * Create the environment and install the server.  A failed or cancelled installation leaves no files.
 * Throws `UserError` and `CancelledError`.
 */
export async function installServer(
  options: InstallOptions,
  token: CancellationToken,
  log: (line: string) => void,
): Promise<void> {
  if (!options.requirement.trim()) {
    throw new UserError("promptls.server.package is empty. Set it to a clone of promptls, a wheel or a requirement.");
  }
  await fs.mkdir(path.dirname(options.environment), { recursive: true });
  const python = await findPython(options, token);
  await fs.rm(options.environment, { recursive: true, force: true });
  const runStep = stepRunner(options, token, log);
  try {
    await runStep("create the environment", python, ["-m", "venv", options.environment]);
    const environmentPython = executablePath(options.environment, "python", options.windows);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", options.requirement.trim()];
    await runStep(`install ${options.requirement.trim()}`, environmentPython, pip);
    const server = executablePath(options.environment, "promptls", options.windows);
    await runStep("run the server", server, ["--version"]);
  } catch (error) {
    await fs.rm(options.environment, { recursive: true, force: true });
    throw error;
  }
}

async function findPython(options: InstallOptions, token: CancellationToken): Promise<string> {
  const setting = options.python.trim();
  if (setting) {
    if (await isSupportedPython(setting, options, token)) return setting;
    throw new UserError(`promptls.server.python: ${setting} is not Python 3.10 to 3.14. Correct or clear the setting.`);
  }
  const files = new Set<string>();
  for (const folder of options.path.split(path.delimiter)) {
    for (const name of await fs.readdir(folder).catch(() => [])) files.add(path.join(folder, name));
  }
  for (const name of PYTHON_NAMES) {
    const lookup = { path: options.path, windows: options.windows, isExecutable: (file: string) => files.has(file) };
    const python = findOnPath(name, lookup);
    if (python !== undefined && (await isSupportedPython(python, options, token))) return python;
  }
  throw new UserError("Python 3.10 to 3.14 was not found on PATH. Install it or set promptls.server.python.");
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
 * Return a function that runs one step of the installation.
 *
 * The working directory is the parent of the environment: Python imports modules from the working directory, so it
 * must not be a workspace.
 */
function stepRunner(options: InstallOptions, token: CancellationToken, log: (line: string) => void) {
  return async (step: string, command: string, args: string[]): Promise<void> => {
    log(`> ${command} ${args.join(" ")}`);
    let result;
    try {
      result = await runProcess(command, args, { token, cwd: path.dirname(options.environment), onLine: log });
    } catch (error) {
      if (token.isCancellationRequested) throw error;
      throw new UserError(`Could not ${step}: ${(error as Error).message}.`);
    }
    if (result.exitCode !== 0) {
      throw new UserError(`Could not ${step}: ${failureReason(result.output)} See the log.`);
    }
  };
}

/** Return the last line of a failed program's output that names an error, else the last line. */
function failureReason(output: string): string {
  const lines = output.split("\n").map((line) => line.trim()).filter(Boolean);
  const error = lines.findLast((line) => /^(error|\w*(error|exception)):/i.test(line) && !/exited-with-error/.test(line));
  return (error ?? lines.at(-1) ?? "no output").replace(/[.!]*$/, ".");
}
