"""Precision and recall of the knowledge graph: calls and imports against jedi (Python) or the TypeScript compiler.

`scripts/evaluate graph (--truth-python PYTHON | --typescript MODULE) [--files N] FOLDER...`: PYTHON is an interpreter
with jedi, MODULE the folder of npm's typescript (needs node), and each FOLDER the source tree of a package. N files of
each are checked, the same ones in every run (default 12). A call is correct if the definition with a certainty of at
least 0.5 is the one that jedi returns. An import is correct per imported name if both end in the same file, with
re-exports followed; in TypeScript it is checked per statement. Targets outside the folder are not part of recall, and
count as errors if the graph resolves them to a file inside.
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
from promptls.graph.imports import ImportResolver
from promptls.index.files.read import FileLimits, UnreadableFile, read_text
from promptls.index.files.uris import to_uri
from promptls.index.files.walk import walk_files
from promptls.index.snapshot import Snapshot, with_files
from promptls.index.syntax.parse import parse_source
from promptls.languages import language_of
from promptls.model import CALL, FileEntry, Root, encode_outline
from promptls.util.hashing import content_hash

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
    """Print one row per package."""
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
        view = Graph(ImportResolver).at(_snapshot(root))
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
    snapshot = Snapshot(roots=(Root(root, root.rsplit("/", 1)[-1], to_uri(root)),))
    entries: dict[str, FileEntry] = {}
    for found in walk_files(root, FileLimits()):
        got = read_text(found.path, FileLimits())
        if isinstance(got, UnreadableFile):
            entries[found.path] = FileEntry(found.path, root, found.name, skip_reason=got.reason)
            continue
        outline = parse_source(got.text, language_of(found.path, got.text[:4096]), None).outline
        entries[found.path] = FileEntry(
            found.path, root, found.name, content_hash=content_hash(got.text), encoded_outline=encode_outline(outline)
        )
    return with_files(snapshot, entries.items())


def _truth(command: list[str], files: Any) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump(files, listed)
        listed.flush()
        done = subprocess.run([*command, listed.name], capture_output=True, check=True)
    return json.loads(done.stdout)


Counts = tuple[int, int, int, int]
"""(found, existing, correct, reported)"""


def _counted(rows: Iterable[tuple[bool, bool, bool]]) -> Counts:
    """Count rows of (target is inside, the graph has an answer, the answer is correct)."""
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
        facts = view.file_symbols(path)
        for owner in range(-1, len(facts.symbols)) if facts is not None else ():
            for use in facts.references_in(owner) if facts is not None else ():
                if use.kind != CALL:
                    continue
                places = ours.setdefault((path, use.line + 1, use.name), set())
                for found in view.resolver.resolve(path, owner, use):
                    symbol = view.symbol(found.ref)
                    if symbol is not None and found.certainty >= SURE:
                        places.add((found.ref[0], symbol.span.start + 1, symbol.span.end))
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
                entity = view.resolver.resolve_target(target)
                file = getattr(entity, "path", None) or getattr(entity, "ref", (target.path,))[0]
                ours.setdefault((path, one.line + 1, name), set()).add(file)
    rows = []
    for path, line, name, targets in truth:
        inside = {t[0] for t in targets if t[0].startswith(root + "/")}
        files = ours.get((path, line, name), set())
        rows.append((bool(inside), bool(files) and bool(targets), bool(files & inside)))
    return _counted(rows)


def _modules(view: GraphView, root: str, truth: list[Any]) -> Counts:
    """Compare imports per statement: the file of the module."""
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
