// Where the server is looked for, and in which order.

import * as assert from "node:assert/strict";
import { test } from "node:test";
import { type Surroundings, findServer } from "../../../../editors/vscode/src/find";

function at(programs: string[], more: Partial<Surroundings> = {}): Surroundings {
  return {
    setting: "",
    folders: ["/shop"],
    path: "/usr/local/bin:/usr/bin",
    home: "/home/ann",
    environment: "/storage/server",
    windows: false,
    isProgram: (file) => programs.includes(file),
    ...more,
  };
}

const ALL = ["/opt/promptls", "/shop/.venv/bin/promptls", "/shop/venv/bin/promptls", "/usr/bin/promptls", "/storage/server/bin/promptls"];

test("setting, workspace, PATH, private environment: the first that is there", () => {
  const found = (programs: string[], setting = "") => findServer(at(programs, { setting })).found?.command;
  assert.equal(found(ALL, "/opt/promptls"), "/opt/promptls");
  assert.equal(found(ALL), "/shop/.venv/bin/promptls");
  assert.equal(found(ALL.slice(2)), "/shop/venv/bin/promptls");
  assert.equal(found(ALL.slice(3)), "/usr/bin/promptls");
  assert.equal(found(ALL.slice(4)), "/storage/server/bin/promptls");
});

test("a setting that leads nowhere is told, and nothing else is taken in its place", () => {
  const { found, problem } = findServer(at(ALL, { setting: "/opt/nothing" }));
  assert.equal(found, undefined);
  assert.match(problem, /promptls\.server\.path names \/opt\/nothing/);
});

test("the setting may begin at home, or be a name on PATH", () => {
  assert.equal(findServer(at(["/home/ann/bin/p"], { setting: "~/bin/p" })).found?.command, "/home/ann/bin/p");
  assert.equal(findServer(at(ALL, { setting: "promptls" })).found?.command, "/usr/bin/promptls");
});

test("an untrusted workspace lends no program, neither by its environment nor by a relative PATH", () => {
  const isProgram = (file: string) => file.startsWith("/shop/") || !file.startsWith("/");
  const { found, problem } = findServer(at([], { folders: [], path: ".:bin:node_modules/.bin", isProgram }));
  assert.equal(found, undefined);
  assert.match(problem, /not installed on this machine; run “pip install \.” in its clone/);
});

test("a relative path in the setting is not looked up in the workspace", () => {
  assert.equal(findServer(at([], { setting: "bin/promptls", isProgram: () => true })).found, undefined);
});

test("where nothing is, the places that were looked at are told", () => {
  assert.deepEqual(findServer(at([])).looked, ["/shop/.venv/bin/promptls", "/shop/venv/bin/promptls", "PATH", "/storage/server/bin/promptls"]);
});
