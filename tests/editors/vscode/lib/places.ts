// Where things are; `run` says so.

import * as path from "node:path";

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start the tests by “run”.`);
  return value;
}

export const repository = given("PROMPTLS_REPOSITORY");
export const work = given("PROMPTLS_WORK");
export const cache = given("PROMPTLS_CACHED");
export const out = path.join(work, "out");
export const vsix = path.join(work, "promptls.vsix");
export const runnerVsix = path.join(work, "runner.vsix");

/** The server's program; a word behind it ("serve") is the client's business. */
export const command = path.resolve(given("PROMPTLS_COMMAND").split(" ")[0] as string);
