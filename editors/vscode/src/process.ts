// Programs that are run to their end: their output line by line, ended when nobody wants it any longer.

import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { Cancelled } from "./errors";

/** As much of VS Code's token as is needed here. */
export interface Token {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

export interface Ran {
  code: number;
  output: string;
}

/** Run a program; both of its streams are the output.  Throws `Cancelled`, and what spawning throws. */
export function run(
  command: string,
  args: readonly string[],
  options: { token?: Token; cwd?: string; onLine?: (line: string) => void } = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    if (options.token?.isCancellationRequested) {
      reject(new Cancelled());
      return;
    }
    const child = spawn(command, args, {
      cwd: options.cwd,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      detached: process.platform !== "win32", // a group of its own, so that what it started ends with it
    });
    let output = "";
    const follow = (stream: Readable): void => {
      let line = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk;
        const parts = (line + chunk).split(/\r?\n/);
        line = parts.pop() ?? "";
        for (const part of parts) options.onLine?.(part);
      });
      stream.on("end", () => {
        if (line) options.onLine?.(line);
      });
    };
    const cancelling = options.token?.onCancellationRequested(() => end(child.pid));
    follow(child.stdout);
    follow(child.stderr);
    child.on("error", (error) => {
      cancelling?.dispose();
      reject(error);
    });
    child.on("close", (code) => {
      cancelling?.dispose();
      if (options.token?.isCancellationRequested) reject(new Cancelled());
      else resolve({ code: code ?? 1, output });
    });
  });
}

function end(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGTERM");
  } catch {
    // it has ended by itself
  }
}
