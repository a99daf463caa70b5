// Paths of the test environment, set by `run`.

import * as path from "node:path";

function requiredVariable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. Start the tests with “run”.`);
  return value;
}

export const repository = requiredVariable("PROMPTLS_REPOSITORY");
export const work = requiredVariable("PROMPTLS_WORK");
export const cache = requiredVariable("PROMPTLS_CACHED");
export const out = path.join(work, "out");
export const vsix = path.join(work, "promptls.vsix");
export const runnerVsix = path.join(work, "runner.vsix");

/** Path of the server executable, without arguments. */
export const command = path.resolve(requiredVariable("PROMPTLS_COMMAND").split(" ")[0] as string);
