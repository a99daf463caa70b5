// Entry point in the extension host: runs the tests with Mocha and writes each result as a line of JSON.

import * as fs from "node:fs";
import Mocha from "mocha";

export async function run(): Promise<void> {
  const results = process.env.PROMPTLS_HOST_RESULTS as string;
  const write = (line: object) => fs.appendFileSync(results, `${JSON.stringify(line)}\n`);
  const mocha = new Mocha({ ui: "bdd", timeout: 120_000, reporter: "min" });
  if (process.env.PROMPTLS_HOST_ONLY) mocha.grep(new RegExp(process.env.PROMPTLS_HOST_ONLY));
  mocha.suite.emit("pre-require", globalThis, "tests", mocha);
  for (const load of [
    () => require("./server.test"),
    () => require("./mentions.test"),
    () => require("./prompt_documents.test"),
    () => require("./client_context.test"),
    () => require("./notebooks.test"),
    () => require("./language_models.test"),
    () => require("./server_lifecycle.test"),
  ]) {
    load();
  }
  await new Promise<void>((resolve) => {
    mocha
      .run(() => resolve())
      .on("pass", (test) => write({ name: test.fullTitle() }))
      .on("fail", (test, error) => write({ name: test.fullTitle(), error: String(error?.message ?? error) }));
  });
  write({ end: true });
}
