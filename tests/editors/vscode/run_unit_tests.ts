// Runs the unit tests with Node's test runner and forwards the results to the report.

import * as fs from "node:fs";
import * as path from "node:path";
import { run } from "node:test";
import { out } from "./lib/paths";
import type { Report } from "./lib/report";

interface TestEvent {
  type: string;
  data: { name: string; details?: { type?: string; error?: Error & { cause?: unknown } } };
}

export async function runUnitTests(report: Report): Promise<void> {
  const folder = path.join(out, "unit");
  const files = fs.readdirSync(folder).map((name) => path.join(folder, name));
  const stream = run({ files, concurrency: 1 });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    const { name, details } = event.data ?? {};
    if (details?.type === "suite" || files.includes(name)) {
      if (event.type === "test:fail" && files.includes(name)) {
        report.check("unit", `${path.basename(name)} runs`, details?.error);
      }
      continue;
    }
    if (event.type === "test:pass") report.check("unit", name);
    if (event.type === "test:fail") report.check("unit", name, details?.error?.cause ?? details?.error ?? "failed");
  }
}
