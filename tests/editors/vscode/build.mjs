// Bundles the tests: entry point, unit tests, tests in the extension host, and the test extension.
import { build } from "esbuild";
import fs from "node:fs";
import path from "node:path";

const out = process.argv[2];
const here = import.meta.dirname;
const common = { bundle: true, platform: "node", format: "cjs", target: "node20", sourcemap: "inline", logLevel: "error" };
const unitTests = fs.readdirSync(path.join(here, "unit")).map((name) => path.join(here, "unit", name));

await build({ ...common, entryPoints: [path.join(here, "main.ts")], outdir: out, external: ["playwright-core"] });
await build({ ...common, entryPoints: unitTests, outdir: path.join(out, "unit") });
await build({ ...common, entryPoints: [path.join(here, "host/index.ts")], outdir: path.join(out, "host"), external: ["vscode"] });
await build({ ...common, entryPoints: [path.join(here, "runner/runner.ts")], outdir: path.join(out, "runner"), external: ["vscode"] });
fs.copyFileSync(path.join(here, "runner/package.json"), path.join(out, "runner/package.json"));
