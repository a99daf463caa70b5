// Entry point of the tests: runs the selected suites and prints the summary.

import { runHostTests } from "./host/run_host_tests";
import { createReport } from "./lib/report";
import { runUnitTests } from "./run_unit_tests";
import { runUiTests } from "./ui/run_ui_tests";

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const selected = args.filter((arg) => !arg.startsWith("--"));
  const only = args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
  const report = createReport();
  const suites: Record<string, () => Promise<void>> = {
    unit: () => runUnitTests(report),
    host: () => runHostTests(report, only),
    ui: () => runUiTests(report, { pictures: args.includes("--pictures"), only }),
  };
  for (const [name, run] of Object.entries(suites)) {
    if (selected.length > 0 && !selected.includes(name)) continue;
    try {
      await run();
    } catch (error) {
      report.check(name, "the suite runs to completion", error);
    }
  }
  const seconds = Math.round(Date.now() / 1000 - Number(process.env.PROMPTLS_BEGAN));
  console.log(`vscode: ${report.passed} passed, ${report.failed} failed, ${seconds} s`);
  process.exit(report.failed > 0 || report.passed === 0 ? 1 : 0);
}

void main();
