// Child processes: run a program to completion, with line-by-line output and cancellation.

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import type { Readable } from "node:stream";
import { CancelledError } from "./errors";

/** The part of `vscode.CancellationToken` that is used here. */
export interface CancellationToken {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

export interface ProcessResult {
  exitCode: number;
  /** Standard output and standard error, interleaved. */
  output: string;
}

/** Run a program to completion.  Throws `CancelledError`, or the error of spawning. */
export function runProcess(
  command: string,
  args: readonly string[],
  options: { token?: CancellationToken; cwd?: string; onLine?: (line: string) => void } = {},
): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    if (options.token?.isCancellationRequested) {
      reject(new CancelledError());
      return;
    }
    const child = spawn(command, args, {
      cwd: options.cwd,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      detached: process.platform !== "win32", // own process group, so that cancellation also ends its children
    });
    let output = "";
    const collect = (stream: Readable): void => {
      let partialLine = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk;
        const lines = (partialLine + chunk).split(/\r?\n/);
        partialLine = lines.pop() ?? "";
        for (const line of lines) options.onLine?.(line);
      });
      stream.on("end", () => {
        if (partialLine) options.onLine?.(partialLine);
      });
    };
    const cancellation = options.token?.onCancellationRequested(() => terminate(child.pid));
    collect(child.stdout);
    collect(child.stderr);
    child.on("error", (error) => {
      cancellation?.dispose();
      reject(error);
    });
    child.on("close", (exitCode) => {
      cancellation?.dispose();
      if (options.token?.isCancellationRequested) reject(new CancelledError());
      else resolve({ exitCode: exitCode ?? 1, output });
    });
  });
}

function terminate(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGTERM");
  } catch {
    // The process has already exited.
  }
}

/** Return a path without links; the path itself if it does not exist. */
export function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

/** Check whether a file exists and can be executed. */
export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
