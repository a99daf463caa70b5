"""How right the knowledge graph is: calls and imports against jedi (Python) or the TypeScript compiler.

`scripts/evaluate graph (--truth-python PYTHON | --typescript MODULE) [--files N] FOLDER...`: PYTHON is an interpreter
that has jedi, MODULE the folder of npm's typescript (needs node), each FOLDER a package's source tree; N files of
each are looked at, the same ones every time (default 12).  A call counts by
the place where it stands: right if the definition that we name (certainty 0.5 or more) is the one that jedi goes to.
An import counts by imported name: right if we end in the file that jedi ends in, re-exports followed (in TypeScript by
statement: right if its module is the same file).  What lies
outside of the folder is left out of recall, and wrong if we find it inside.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import Resolver
from promptls.index import files as disk
from promptls.index.snapshot import Snapshot, with_entries
from promptls.index.syntax.parse import scan
from promptls.languages.table import language_of
from promptls.model import CALL, FileEntry, Root, pack
from promptls.util.hashing import digest_of

SURE = 0.5
SCRIPTS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs")

JEDI = """
import ast, json, sys
import jedi
root, files = sys.argv[1], json.load(open(sys.argv[2]))
own = [root, root + "/src", root + "/lib"]  # no copy that is installed beside jedi may be taken for the package
project = jedi.Project(root, sys_path=[*own, *(p for p in sys.path if "site-packages" not in p)])
calls, imports = [], []
def targets(script, line, column):
    try:
        found = script.goto(line, column, follow_imports=True)
    except Exception:
        return []
    return [[str(d.module_path) if d.module_path else "", d.line or 0, d.name, d.type] for d in found]
for file in files:
    source = open(file, encoding="utf-8", errors="replace").read()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        continue
    script, lines = jedi.Script(source, path=file, project=project), source.split("\\n")
    def column(line, byte):
        return len(lines[line - 1].encode()[:byte].decode(errors="replace"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            f = node.func
            name = f.id if isinstance(f, ast.Name) else f.attr
            byte = f.col_offset if isinstance(f, ast.Name) else f.end_col_offset - len(name.encode())
            line = f.lineno if isinstance(f, ast.Name) else f.end_lineno
            calls.append([file, line, name, targets(script, line, column(line, byte))])
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name == "*":
                    continue
                last = alias.col_offset + len(alias.name.encode()) - 1
                imports.append([file, node.lineno, alias.name, targets(script, alias.lineno, column(alias.lineno, last))])
json.dump({"calls": calls, "imports": imports}, sys.stdout)
"""


def main(arguments: list[str]) -> int:
    """Print a row a package."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate graph")
    parser.add_argument("folders", nargs="+")
    truths = parser.add_mutually_exclusive_group(required=True)
    truths.add_argument("--truth-python")
    truths.add_argument("--typescript")
    parser.add_argument("--files", type=int, default=12)
    options = parser.parse_args(arguments)
    print("| package | imports: recall | precision | calls: recall | precision |\n|---|---|---|---|---|")
    for folder in options.folders:
        root = Path(folder).resolve().as_posix()
        view = Graph(Resolver).at(_snapshot(root))
        endings = (".py",) if options.truth_python else SCRIPTS
        every = sorted(path for path in view.snapshot.files if path.endswith(endings))
        files = list(every)
        random.Random(0).shuffle(files)
        if options.truth_python:
            truth = _truth([options.truth_python, "-c", JEDI, root], files[: options.files])
            imports = _imports(view, root, truth["imports"])
        else:
            command = ["node", str(Path(__file__).with_name("script_truth.mjs")), options.typescript, root]
            truth = _truth(command, {"all": every, "files": files[: options.files]})
            imports = _modules(view, root, truth["imports"])
        calls = _calls(view, root, truth["calls"])
        print(f"| {root.rsplit('/', 1)[-1]} | {_shares(imports)} | {_shares(calls)} |", flush=True)
    return 0


def _snapshot(root: str) -> Snapshot:
    snapshot = Snapshot(roots=(Root(root, root.rsplit("/", 1)[-1], disk.to_uri(root)),))
    entries: dict[str, FileEntry] = {}
    for found in disk.walk(root, disk.Limits()):
        got = disk.read_text(found.path, disk.Limits())
        if isinstance(got, disk.Skipped):
            entries[found.path] = FileEntry(found.path, root, found.name, skipped=got.reason)
            continue
        outline = scan(got.text, language_of(found.path, got.text[:4096]), None).outline
        entries[found.path] = FileEntry(
            found.path, root, found.name, digest=digest_of(got.text), outlined=pack(outline)
        )
    return with_entries(snapshot, entries.items())


def _truth(command: list[str], files: Any) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump(files, listed)
        listed.flush()
        done = subprocess.run([*command, listed.name], capture_output=True, check=True)
    return json.loads(done.stdout)


Counts = tuple[int, int, int, int]
"""(found, there are, right, said)"""


def _counted(rows: Iterable[tuple[bool, bool, bool]]) -> Counts:
    """Rows of (is it inside, do we say something, is that right)."""
    there = hits = said = right = 0
    for inside, ours, fits in rows:
        there += inside
        hits += inside and fits
        said += ours
        right += ours and fits
    return hits, there, right, said


def _calls(view: GraphView, root: str, truth: list[Any]) -> Counts:
    ours: dict[tuple[str, int, str], set[tuple[str, int, int]]] = {}
    for path in {row[0] for row in truth}:
        facts = view.facts(path)
        for owner in range(-1, len(facts.symbols)) if facts is not None else ():
            for use in facts.uses_of(owner) if facts is not None else ():
                if use.kind != CALL:
                    continue
                places = ours.setdefault((path, use.line + 1, use.name), set())
                for found in view.resolver.resolve(path, owner, use):
                    symbol = view.symbol(found.place)
                    if symbol is not None and found.certainty >= SURE:
                        places.add((found.place[0], symbol.span.start + 1, symbol.span.end))
    rows = []
    for path, line, name, targets in truth:
        inside = [t for t in targets if t[0].startswith(root + "/") and t[3] in ("function", "class")]
        places = ours.get((path, line, name), set())
        if inside or all(not t[0].startswith(root + "/") for t in targets):
            fits = any(file == t[0] and first <= t[1] <= last for file, first, last in places for t in inside)
            rows.append((bool(inside), bool(places) and bool(targets), fits))
    return _counted(rows)


def _imports(view: GraphView, root: str, truth: list[Any]) -> Counts:
    ours: dict[tuple[str, int, str], set[str]] = {}
    for path in {row[0] for row in truth}:
        entry = view.snapshot.files[path]
        for one in entry.outline.imports if entry.outline is not None else ():
            targets = view.resolver.imports.targets(entry, one)
            names = one.names or (one.module,)
            for name, target in zip(names, targets, strict=False):
                entity = view.resolver.target(target)
                file = getattr(entity, "path", None) or getattr(entity, "place", (target.path,))[0]
                ours.setdefault((path, one.line + 1, name), set()).add(file)
    rows = []
    for path, line, name, targets in truth:
        inside = {t[0] for t in targets if t[0].startswith(root + "/")}
        files = ours.get((path, line, name), set())
        rows.append((bool(inside), bool(files) and bool(targets), bool(files & inside)))
    return _counted(rows)


def _modules(view: GraphView, root: str, truth: list[Any]) -> Counts:
    """Imports by statement: the file that the module is."""
    ours: dict[tuple[str, int, str], set[str]] = {}
    for path in {row[0] for row in truth}:
        entry = view.snapshot.files[path]
        for one in entry.outline.imports if entry.outline is not None else ():
            found = {target.path for target in view.resolver.imports.targets(entry, one)}
            ours.setdefault((path, one.line + 1, one.module), set()).update(found)
    rows = []
    for path, line, module, targets in truth:
        inside = {t[0] for t in targets if t[0].startswith(root + "/")}
        files = ours.get((path, line, module), set())
        rows.append((bool(inside), bool(files) and bool(targets), bool(files & inside)))
    return _counted(rows)


def _shares(counts: Counts) -> str:
    hits, there, right, said = counts
    return f"{hits / max(1, there):.3f} ({hits}/{there}) | {right / max(1, said):.3f} ({right}/{said})"
