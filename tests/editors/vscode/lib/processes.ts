// The server's process, found by the index that it was told to keep and by what it was started with.

import * as fs from "node:fs";
import { until } from "./report";

export function serverPids(index: string): number[] {
  const found: number[] = [];
  for (const entry of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const words = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0");
      const mine = fs.readFileSync(`/proc/${entry}/environ`, "utf8").split("\0").includes(`PROMPTLS_CACHE=${index}`);
      if (mine && words.includes("serve") && words.some((word) => /\bpromptls$/.test(word))) found.push(Number(entry));
    } catch {
      // it has ended while we looked
    }
  }
  return found;
}

export function serverPid(index: string): Promise<number> {
  return until("one server", () => {
    const pids = serverPids(index);
    return pids.length === 1 ? pids[0] : undefined;
  });
}
