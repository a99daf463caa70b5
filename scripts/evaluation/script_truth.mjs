// What the TypeScript compiler makes of the imports and calls of some files: node script_truth.mjs TYPESCRIPT ROOT FILES
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [typescript, root, listed] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(typescript);
const { all, files } = JSON.parse(readFileSync(listed, "utf8"));
const options = {
  allowJs: true,
  noEmit: true,
  noLib: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  jsx: ts.JsxEmit.Preserve,
  maxNodeModuleJsDepth: 0,
};
const program = ts.createProgram(all, options);
const checker = program.getTypeChecker();
const calls = [];
const imports = [];

function place(declaration) {
  const source = declaration.getSourceFile();
  const start = declaration.getStart(source);
  const name = declaration.name?.getText?.() ?? "";
  return [source.fileName, source.getLineAndCharacterOfPosition(start).line + 1, name, "function"];
}

/** All the declarations of what a name stands for: of an overloaded function each signature. */
function declared(symbol) {
  while (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return symbol?.declarations ?? [];
}

function callable(declaration) {
  return (
    ts.isFunctionLike(declaration) ||
    ts.isClassLike(declaration) ||
    (declaration.initializer && ts.isFunctionLike(declaration.initializer))
  );
}

for (const file of files) {
  const source = program.getSourceFile(file);
  if (!source) continue;
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const callee = node.expression;
      const name = ts.isPropertyAccessExpression(callee) ? callee.name : ts.isIdentifier(callee) ? callee : undefined;
      if (name) {
        const line = source.getLineAndCharacterOfPosition(name.getStart(source)).line + 1;
        const targets = declared(checker.getSymbolAtLocation(name)).filter(callable).map(place);
        calls.push([file, line, name.text, targets]);
      }
    }
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      const resolved = ts.resolveModuleName(node.moduleSpecifier.text, file, options, ts.sys).resolvedModule;
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      const target = resolved?.resolvedFileName;
      imports.push([file, line, node.moduleSpecifier.text, target ? [[target, 0, "", "module"]] : []]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
process.stdout.write(JSON.stringify({ calls, imports }));
