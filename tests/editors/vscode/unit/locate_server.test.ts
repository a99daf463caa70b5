// Location of the server executable: order of the searched locations, and error messages.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { type LocateOptions, locateServer } from "../../../../editors/vscode/src/locate_server";

/** Options for a machine on which only the given executables exist. */
function optionsWith(executables: string[], more: Partial<LocateOptions> = {}): LocateOptions {
  return {
    setting: "",
    folders: ["/shop"],
    path: "/usr/local/bin:/usr/bin",
    home: "/home/ann",
    environment: "/storage/server",
    windows: false,
    isExecutable: (file) => executables.includes(file),
    ...more,
  };
}

const ALL = [
  "/opt/promptls",
  "/shop/.venv/bin/promptls",
  "/shop/venv/bin/promptls",
  "/usr/bin/promptls",
  "/storage/server/bin/promptls",
];

test("the setting comes before the workspace, PATH and the private environment", () => {
  const locate = (executables: string[], setting = "") =>
    locateServer(optionsWith(executables, { setting })).executable?.command;
  assert.equal(locate(ALL, "/opt/promptls"), "/opt/promptls");
  assert.equal(locate(ALL), "/shop/.venv/bin/promptls");
  assert.equal(locate(ALL.slice(2)), "/shop/venv/bin/promptls");
  assert.equal(locate(ALL.slice(3)), "/usr/bin/promptls");
  assert.equal(locate(ALL.slice(4)), "/storage/server/bin/promptls");
});

test("a wrong path in the setting is reported without a fallback", () => {
  const { executable, problem } = locateServer(optionsWith(ALL, { setting: "/opt/nothing" }));
  assert.equal(executable, undefined);
  assert.match(problem, /promptls\.server\.path: \/opt\/nothing is not an executable file/);
});

test("the setting can start with ~ or be a name on PATH", () => {
  const inHome = optionsWith(["/home/ann/bin/p"], { setting: "~/bin/p" });
  assert.equal(locateServer(inHome).executable?.command, "/home/ann/bin/p");
  assert.equal(locateServer(optionsWith(ALL, { setting: "promptls" })).executable?.command, "/usr/bin/promptls");
});

test("executables of an untrusted workspace are not used, neither from its environment nor from a relative PATH", () => {
  const isExecutable = (file: string) => file.startsWith("/shop/") || !file.startsWith("/");
  const options = optionsWith([], { folders: [], path: ".:bin:node_modules/.bin", isExecutable });
  const { executable, problem } = locateServer(options);
  assert.equal(executable, undefined);
  assert.match(problem, /was not found on the PATH of the editor\. Set promptls\.server\.path/);
});

test("a relative path in the setting is not resolved in the workspace", () => {
  const options = optionsWith([], { setting: "bin/promptls", isExecutable: () => true });
  assert.equal(locateServer(options).executable, undefined);
});

test("the searched locations are returned if no server is found", () => {
  const { searched } = locateServer(optionsWith([]));
  assert.deepEqual(searched, [
    "/shop/.venv/bin/promptls",
    "/shop/venv/bin/promptls",
    "PATH",
    "/storage/server/bin/promptls",
  ]);
});
