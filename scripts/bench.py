"""Speed, memory and disk of promptls on one folder, as a table; everything in one run, side by side.

The bare parse is one thread of tree-sitter over the texts that the index reads, grammars loaded before.
The server is driven over stdio as an editor does.  Questions are the first sentences of documentation in
the folder itself, so any folder can be measured.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from lsp import Client
from promptls.index import disk
from promptls.index.syntax.grammars import grammars
from promptls.index.syntax.languages import language_of

QUESTIONS = 150
EDITS = 60


def texts_of(root: Path) -> dict[str, str]:
    """Path → text of what is indexed."""
    out = {}
    for found in disk.walk(root.as_posix(), disk.Limits()):
        got = disk.read_text(found.path, disk.Limits())
        if isinstance(got, disk.ReadText):
            out[found.path] = got.text
    return out


def bare_parse(texts: dict[str, str]) -> float:
    """Seconds to parse everything that has a grammar, on one thread."""
    from tree_sitter import Parser

    work, known = [], grammars()
    for path, text in texts.items():
        language = known.grammar(language_of(path, text[:4096]))
        if language is not None:
            work.append((Parser(language), text.encode("utf-8", "replace")))
    start = time.perf_counter()
    for parser, data in work:
        parser.parse(data)
    return time.perf_counter() - start


def peak_rss(pid: int) -> float:
    """Peak resident megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def rss(pid: int) -> float:
    """Resident megabytes of a process and its children now."""
    shown = subprocess.run(["ps", "-o", "rss=", "--pid", str(pid), "--ppid", str(pid)], capture_output=True, text=True)
    return sum(int(x) for x in shown.stdout.split()) / 1024


def started(root: Path, cache: Path) -> tuple[Client, float]:
    """A server that is ready, and the seconds from its start."""
    start = time.perf_counter()
    client = Client(cache)
    client.initialize(root)
    client.settled(timeout=3600)
    return client, time.perf_counter() - start


def percentiles(times: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(times)
    return f"{statistics.median(ordered) * 1000:.1f} / {ordered[int(0.95 * (len(ordered) - 1))] * 1000:.1f} ms"


def timed(calls: list[Callable[[], object]]) -> list[float]:
    """Seconds of each call."""
    out = []
    for call in calls:
        start = time.perf_counter()
        call()
        out.append(time.perf_counter() - start)
    return out


def edits(client: Client, path: Path, text: str) -> list[float]:
    """Seconds from a didChange to an answer that holds the new text."""
    client.open(path, text)
    lines = text.count("\n")
    out = []
    for n in range(EDITS):
        where = {"line": lines, "character": 0}
        new = f"def freshly_typed_{n}(x):\n    return x * {n}\n"
        start = time.perf_counter()
        client.change(path, n + 2, {"range": {"start": where, "end": where}, "text": new})
        result = client.build(f"what does @#freshly_typed_{n} return?", budget={"tokens": 2000})
        out.append(time.perf_counter() - start)
        assert f"return x * {n}" in result["prompt"]
        lines += 2
    client.close(path)
    return out


def main() -> int:
    """Measure and print."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(os.__file__).parent).resolve()
    texts = texts_of(root)
    questions = [
        line.strip(" \"'#/*.") + "?"
        for text in texts.values()
        for line in text.split("\n")
        if '"""' in line and 30 < len(line.strip()) < 120
    ] or ["where is the configuration read?"]
    random.Random(1).shuffle(questions)
    rows: list[tuple[str, str]] = []
    megabytes = sum(map(len, texts.values())) / 1e6
    lines = sum(t.count("\n") for t in texts.values())
    rows.append(("workspace", f"{len(texts):,} files, {lines:,} lines, {megabytes:.1f} MB"))
    bare = bare_parse(texts)
    rows.append(("bare parse, one thread", f"{bare:.2f} s"))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        client, first = started(root, cache)
        rows.append(("first scan to ready", f"{first:.2f} s, {first / bare:.1f} × the bare parse"))
        status = client.request("promptls/status")
        chunks = status["roots"][0]["chunks"]
        rows.append(("chunks, symbols", f"{chunks:,}, {status['roots'][0]['symbols']:,}"))
        rows.append(
            (
                "disk",
                f"{status['disk']['bytes'] / 1e6:.1f} MB, {status['disk']['bytes'] / max(1, chunks):,.0f} bytes a chunk",
            )
        )
        rows.append(("peak memory of the server", f"{peak_rss(client.process.pid):.0f} MB"))
        for name, params in (("4,000", {"tokens": 4000}), ("20,000", {"tokens": 20000})):
            calls = [lambda q=q, p=params: client.build(q, budget=p) for q in questions[:QUESTIONS]]
            rows.append((f"buildPrompt of {name} tokens, p50 / p95", percentiles(timed(calls))))
        calls = [lambda q=q: client.search(q) for q in questions[:QUESTIONS]]
        rows.append(("search, p50 / p95", percentiles(timed(calls))))
        long = min(
            (p for p in texts if p.endswith(".py")), key=lambda p: abs(texts[p].count("\n") - 2000), default=None
        )
        if long is not None:
            name = f"didChange to an answer with it, {texts[long].count(chr(10)):,}-line file, p50 / p95"
            rows.append((name, percentiles(edits(client, Path(long), texts[long]))))
        rows.append(("memory of server and worker after that", f"{rss(client.process.pid):.0f} MB"))
        client.stop()
        client, warm = started(root, cache)
        rows.append(("warm start to ready", f"{warm:.2f} s"))
        client.stop()
    print("| measure | value |\n| --- | --- |")
    for name, value in rows:
        print(f"| {name} | {value} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
