// The one install that is offered: a private environment for the server, made when the user says so.

import * as fs from "node:fs/promises";
import * as path from "node:path";
import { UserError } from "./errors";
import { onPath, programIn } from "./find";
import { type Token, run } from "./process";

export interface Plan {
  /** Where the environment goes; what is there is replaced. */
  environment: string;
  /** What pip installs. */
  requirement: string;
  /** The Python to use; empty: the first that fits on PATH. */
  python: string;
  path: string;
  windows: boolean;
}

const FITS = "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))";
const NAMES = ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/** Make the environment.  Whatever goes wrong, nothing of it stays.  Throws `UserError` and `Cancelled`. */
export async function install(plan: Plan, token: Token, log: (line: string) => void): Promise<void> {
  if (!plan.requirement.trim()) {
    throw new UserError("The setting promptls.server.package is empty; it must say what to install, such as the folder of a clone of promptls.");
  }
  await fs.mkdir(path.dirname(plan.environment), { recursive: true });
  const python = await findPython(plan, token);
  await fs.rm(plan.environment, { recursive: true, force: true });
  const step = steps(plan, token, log);
  try {
    await step("make the environment", python, ["-m", "venv", plan.environment]);
    const own = programIn(plan.environment, "python", plan.windows);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", plan.requirement.trim()];
    await step(`install ${plan.requirement.trim()}`, own, pip);
    await step("run the server", programIn(plan.environment, "promptls", plan.windows), ["--version"]);
  } catch (error) {
    await fs.rm(plan.environment, { recursive: true, force: true });
    throw error;
  }
}

async function findPython(plan: Plan, token: Token): Promise<string> {
  if (plan.python.trim()) {
    if (await fits(plan.python.trim(), plan, token)) return plan.python.trim();
    throw new UserError(
      `The setting promptls.server.python names ${plan.python.trim()}, which is no Python 3.10 to 3.13; correct it or empty it.`,
    );
  }
  const exists = new Set<string>();
  for (const folder of plan.path.split(path.delimiter)) {
    for (const name of await fs.readdir(folder).catch(() => [])) exists.add(path.join(folder, name));
  }
  for (const name of NAMES) {
    const found = onPath(name, { path: plan.path, windows: plan.windows, isProgram: (file) => exists.has(file) });
    if (found !== undefined && (await fits(found, plan, token))) return found;
  }
  throw new UserError(
    "The server needs Python 3.10 to 3.13, and there is none on PATH; install one or name it in the setting promptls.server.python.",
  );
}

async function fits(python: string, plan: Plan, token: Token): Promise<boolean> {
  try {
    return (await run(python, ["-c", FITS], { token, cwd: path.dirname(plan.environment) })).code === 0;
  } catch (error) {
    if (token.isCancellationRequested) throw error;
    return false;
  }
}

/** Programs run beside the environment: Python looks for modules where it stands, and that must not be a workspace. */
function steps(plan: Plan, token: Token, log: (line: string) => void) {
  return async (what: string, command: string, args: string[]): Promise<void> => {
    log(`> ${command} ${args.join(" ")}`);
    let ran;
    try {
      ran = await run(command, args, { token, cwd: path.dirname(plan.environment), onLine: log });
    } catch (error) {
      if (token.isCancellationRequested) throw error;
      throw new UserError(`Could not ${what}: ${(error as Error).message}.`);
    }
    if (ran.code !== 0) {
      throw new UserError(`Could not ${what}: ${reason(ran.output)} The log has more.`);
    }
  };
}

/** What a program that failed has said: the last line that names an error, else the last one. */
function reason(output: string): string {
  const lines = output.split("\n").map((line) => line.trim()).filter(Boolean);
  const error = lines.findLast((line) => /^(error|\w*(error|exception)):/i.test(line) && !/exited-with-error/.test(line));
  return (error ?? lines.at(-1) ?? "no reason was given").replace(/[.!]*$/, ".");
}
