// Bundles the extension into dist/ and collects the licenses of the bundled packages in dist/NOTICES.txt.
import { build } from "esbuild";
import fs from "node:fs";
import path from "node:path";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: true,
  metafile: true,
  logLevel: "warning",
});

const packages = new Set(
  Object.keys(metafile.inputs)
    .map((file) => file.match(/^(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//)?.[1])
    .filter(Boolean),
);
const notices = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : fs.readFileSync(path.join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}`;
});
fs.writeFileSync("dist/NOTICES.txt", `This extension contains:\n\n${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
