// Location of the server executable: order of the searched locations, and error messages.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { type LocateOptions, findProgram, locateServer } from "../../../../editors/vscode/src/locate_server";

/** Options for a machine on which only the given executables exist. */
function optionsWith(executables: string[], more: Partial<LocateOptions> = {}): LocateOptions {
  return {
    setting: "",
    folders: ["/shop"],
    trusted: true,
    env: { PATH: "/usr/local/bin:/usr/bin", VIRTUAL_ENV: "/envs/active" },
    home: "/home/ann",
    environment: "/storage/server",
    windows: false,
    isExecutable: (file) => executables.includes(file),
    realPath: (file) => file.replace(/^\/link\b/, "/shop"),
    ...more,
  };
}

const ALL = [
  "/opt/promptls",
  "/shop/.venv/bin/promptls",
  "/shop/venv/bin/promptls",
  "/envs/active/bin/promptls",
  "/usr/bin/promptls",
  "/home/ann/.local/bin/promptls",
  "/storage/server/bin/promptls",
];

test("the order is: setting, workspace, active environment, PATH, folders of tools, private environment", () => {
  const locate = (executables: string[], setting = "") =>
    locateServer(optionsWith(executables, { setting })).executable?.command;
  assert.equal(locate(ALL, "/opt/promptls"), "/opt/promptls");
  assert.equal(locate(ALL), "/shop/.venv/bin/promptls");
  assert.equal(locate(ALL.slice(2)), "/shop/venv/bin/promptls");
  for (let i = 3; i < ALL.length; i++) assert.equal(locate(ALL.slice(i)), ALL[i]);
});

test("the folders of uv and pipx are those of their variables", () => {
  const locate = (env: Record<string, string>) =>
    locateServer(optionsWith([], { env, isExecutable: (file) => file.startsWith("/tools/") })).executable?.command;
  assert.equal(locate({ UV_TOOL_BIN_DIR: "/tools/uv", XDG_BIN_HOME: "/tools/xdg" }), "/tools/uv/promptls");
  assert.equal(locate({ XDG_BIN_HOME: "/tools/xdg", XDG_DATA_HOME: "/tools/share" }), "/tools/xdg/promptls");
  assert.equal(locate({ XDG_DATA_HOME: "/tools/share" }), "/tools/bin/promptls");
  assert.equal(locate({ PIPX_BIN_DIR: "/tools/pipx" }), "/tools/pipx/promptls");
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

test("programs in an untrusted workspace are not used, whatever leads to them", () => {
  const isExecutable = (file: string) => /^\/(shop|link)\//.test(file) || !file.startsWith("/");
  const folders = ["/shop/env/bin", "/link/bin", ".", "bin", "node_modules/.bin"];
  const env = { PATH: folders.join(":"), VIRTUAL_ENV: "/link/env", CONDA_PREFIX: "/shop/conda", UV_TOOL_BIN_DIR: "/shop/uv" };
  const options = optionsWith([], { trusted: false, env, isExecutable });
  const { executable, problem } = locateServer(options);
  assert.equal(executable, undefined);
  assert.match(problem, /was not found\. Run “promptls: Install Server…”/);
  assert.equal(locateServer({ ...options, setting: "promptls" }).executable, undefined);
  assert.equal(findProgram("uv", options), undefined);
  assert.equal(locateServer({ ...options, folders: [] }).executable?.command, "/link/env/bin/promptls");
  assert.equal(locateServer({ ...options, trusted: true }).executable?.origin, "the workspace's environment");
});

test("on Windows, the server of uv is found in the home folder", () => {
  const command = "/home/ann/.local/bin/promptls.exe";
  assert.equal(locateServer(optionsWith([command], { windows: true })).executable?.command, command);
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
    "/envs/active/bin/promptls",
    "PATH",
    "/home/ann/.local/bin/promptls",
    "/storage/server/bin/promptls",
  ]);
});
