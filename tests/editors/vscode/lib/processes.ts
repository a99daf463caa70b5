// Processes of promptls, identified by their index folder and command line.

import * as fs from "node:fs";
import { waitFor } from "./report";

/** A running process with its command line. */
interface Process {
  pid: number;
  words: string[];
}

/** Return the processes of promptls that use an index folder and were started with a command. */
export function runningProcesses(index: string, command: "serve" | "mcp"): Process[] {
  const found: Process[] = [];
  for (const entry of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const words = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0").filter(Boolean);
      const environment = fs.readFileSync(`/proc/${entry}/environ`, "utf8").split("\0");
      const isServer = words.includes(command) && words.some((word) => /\bpromptls$/.test(word));
      if (isServer && environment.includes(`PROMPTLS_CACHE=${index}`)) found.push({ pid: Number(entry), words });
    } catch {
      // The process has exited in the meantime.
    }
  }
  return found;
}

/** Return the language servers that use an index folder. */
export function serverPids(index: string): number[] {
  return runningProcesses(index, "serve").map(({ pid }) => pid);
}

/** Wait until exactly one server uses an index folder and return its process ID. */
export function serverPid(index: string): Promise<number> {
  return waitFor("one server", () => {
    const pids = serverPids(index);
    return pids.length === 1 ? pids[0] : undefined;
  });
}
