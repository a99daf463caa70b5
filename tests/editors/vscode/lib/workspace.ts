// Copy of tests/editors/workspace in a new git repository.

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { repository } from "./paths";

export function makeWorkspace(folder: string): string {
  fs.cpSync(path.join(repository, "tests/editors/workspace"), folder, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.org", ...args], { cwd: folder, stdio: "pipe" });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "-m", "Shop");
  return folder;
}
