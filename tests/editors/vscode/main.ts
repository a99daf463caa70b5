// Runs the suites that are asked for and counts.

import { runHost } from "./host/drive";
import { createReport } from "./lib/report";
import { runUi } from "./ui/drive";
import { runUnits } from "./unit-runner";

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const named = words.filter((word) => !word.startsWith("--"));
  const only = words.find((word) => word.startsWith("--only="))?.slice("--only=".length) ?? "";
  const report = createReport();
  const suites: Record<string, () => Promise<void>> = {
    unit: () => runUnits(report),
    host: () => runHost(report, only),
    ui: () => runUi(report, { pictures: words.includes("--pictures"), only }),
  };
  for (const [name, run] of Object.entries(suites)) {
    if (named.length > 0 && !named.includes(name)) continue;
    try {
      await run();
    } catch (error) {
      report.check(name, "the suite runs to its end", error);
    }
  }
  const seconds = Math.round(Date.now() / 1000 - Number(process.env.PROMPTLS_BEGAN));
  console.log(`vscode: ${report.passed} passed, ${report.failed} failed, ${seconds} s`);
  process.exit(report.failed > 0 || report.passed === 0 ? 1 : 0);
}

void main();
