// Process IDs of running servers, identified by their index folder and command line.

import * as fs from "node:fs";
import { waitFor } from "./report";

/** Return the servers that use an index folder. */
export function serverPids(index: string): number[] {
  const pids: number[] = [];
  for (const entry of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const args = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0");
      const environment = fs.readFileSync(`/proc/${entry}/environ`, "utf8").split("\0");
      const isServer = args.includes("serve") && args.some((arg) => /\bpromptls$/.test(arg));
      if (isServer && environment.includes(`PROMPTLS_CACHE=${index}`)) pids.push(Number(entry));
    } catch {
      // The process has exited in the meantime.
    }
  }
  return pids;
}

/** Wait until exactly one server uses an index folder and return its process ID. */
export function serverPid(index: string): Promise<number> {
  return waitFor("one server", () => {
    const pids = serverPids(index);
    return pids.length === 1 ? pids[0] : undefined;
  });
}
