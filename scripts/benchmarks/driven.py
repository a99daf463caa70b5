"""Measure one folder with a server that is driven over stdio, as an editor does, in one run.

The bare parse runs tree-sitter on one thread over the texts that the index reads, with grammars already loaded.
Questions are the first sentences of documentation in the folder, so any folder can be measured.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from lsp import Client
from promptls.index.files.read import FileContent, FileLimits, read_text
from promptls.index.files.walk import walk_files
from promptls.index.syntax.tree_sitter.grammars import grammar_loader
from promptls.languages import language_of

QUESTIONS = 150
EDITS = 60
WAIT_S = 7_200.0
AGAIN = 5
"""Number of repetitions of a question about the whole workspace."""
WHOLE = (
    "Give me an overview of the architecture of this project.",
    *("@map", "@tree", "@callers", "@tests", "@text:return"),
    *('@regex:"def \\w+_set"', '@pattern:"isinstance($A, $$$)"'),
)
"""Questions about the whole workspace; callers and tests refer to one function."""
_DOC = re.compile(r'"""([A-Z][^"\n]{25,110})|^\s*(?://|\*)\s+([A-Z][^\n]{30,110})$', re.MULTILINE)
_DEF = re.compile(r"^ *def (\w+)", re.MULTILINE)
_CALL = re.compile(r"\b(\w{3,})\(")


class Figures(Struct, kw_only=True):
    """Measured figures: times in seconds, pairs are (median, 95th percentile)."""

    files: int
    lines: int
    megabytes: float
    chunks: int
    symbols: int
    bare: float  # the bare parse
    ready: float  # from process start until everything is stored
    spent: tuple[float, float]  # CPU seconds until then: server, all other processes
    usable: float  # until files, names and terms are available
    busy: tuple[float, float]  # buildPrompt during a first scan (in a separate run)
    warm: float  # start with an unchanged index
    prompt: tuple[float, float]  # 4,000 tokens
    stages: dict[str, float]  # medians of the stages of such a prompt; "around": protocol and decoding of the response
    long_prompt: tuple[float, float]  # 20,000 tokens
    search: tuple[float, float]
    edit: tuple[float, float]  # from didChange to a prompt with the new text
    seen: tuple[float, float]  # from didChange to a completion with the new symbol
    edited_lines: int  # lines of the edited file
    memory: float  # MB of all processes after the questions, when idle
    peak: float  # MB of the server process
    disk: float  # bytes per chunk
    cpu: float  # share of one core when idle
    writes: int  # bytes written when idle
    whole: dict[str, tuple[float, float]]  # questions about the whole: seconds of the first run, median of later runs


def texts_of(root: Path) -> dict[str, str]:
    """Return the indexed texts by path."""
    out = {}
    for found in walk_files(root.as_posix(), FileLimits()):
        got = read_text(found.path, FileLimits())
        if isinstance(got, FileContent):
            out[found.path] = got.text
    return out


def bare_parse(texts: Iterable[tuple[str, str]]) -> float:
    """Return the seconds to parse all texts that have a grammar, on one thread."""
    from tree_sitter import Parser

    work, known = [], grammar_loader()
    for path, text in texts:
        language = known.grammar(language_of(path, text[:4096]))
        if language is not None:
            work.append((Parser(language), text.encode("utf-8", "replace")))
    start = time.perf_counter()
    for parser, data in work:
        parser.parse(data)
    return time.perf_counter() - start


def questions_in(texts: Iterable[str]) -> list[str]:
    """Return sentences of documentation as questions."""
    found = [a or b for text in texts for a, b in _DOC.findall(text)[:3]]
    random.Random(1).shuffle(found)
    return [f"{sentence.strip(' .')}?" for sentence in found[:QUESTIONS]] or ["where is the configuration read?"]


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    shown = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in shown.splitlines()]
    out = [pid]
    for one in out:
        out += [child for child, parent in pairs if parent == one]
    return out


def resident(pid: int) -> float:
    """Return the resident megabytes of a process tree; shared pages count once where the system reports them."""
    every = family(pid)
    try:
        told = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in every]
        return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) for text in told) / 1024  # type: ignore[index]
    except (OSError, TypeError):
        pass
    pids = ",".join(map(str, every))
    shown = subprocess.run(["ps", "-o", "rss=", "-p", pids], capture_output=True, text=True)
    return sum(map(int, shown.stdout.split())) / 1024


def peak(pid: int) -> float:
    """Return the peak resident megabytes of a process; 0 if the system does not report them."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0.0)


def spent(pid: int, alone: bool = False) -> tuple[float, int]:
    """Return (CPU seconds, bytes written) of a process tree.

    Seconds include descendants that have ended, unless `alone`. (0, 0) if the system does not report them.
    """
    seconds, written = 0.0, 0
    for one in [pid] if alone else family(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            ticks = sum(map(int, fields[11:13] if alone else fields[11:15]))
            seconds += ticks / os.sysconf("SC_CLK_TCK")
            written += int(re.search(r"^write_bytes: (\d+)", Path(f"/proc/{one}/io").read_text(), re.MULTILINE)[1])  # type: ignore[index]
        except (OSError, TypeError):
            continue
    return seconds, written


def two(times: list[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]


def timed(calls: Iterable[Callable[[], object]]) -> list[float]:
    """Return the seconds of each call."""
    out = []
    for call in calls:
        start = time.perf_counter()
        call()
        out.append(time.perf_counter() - start)
    return out


def _first_scan(client: Client, root: Path) -> tuple[float, float, tuple[float, float]]:
    """Return (seconds until usable, until ready, CPU seconds) of an undisturbed scan.

    The status notifications of the server mark both moments.
    """
    start = time.perf_counter()
    client.initialize(root)
    client.wait_notification("promptls/statusChanged", lambda status: status["usable"] and status["roots"], WAIT_S)
    usable = time.perf_counter() - start
    client.wait_notification("promptls/statusChanged", lambda status: status["state"] in ("ready", "degraded"), WAIT_S)
    ready = time.perf_counter() - start
    own = spent(client.process.pid, alone=True)[0]
    return usable, ready, (own, spent(client.process.pid)[0] - own)


def _busy(client: Client, root: Path, questions: list[str]) -> list[float]:
    """Return the seconds of prompts that are requested now and then during a first scan."""
    client.initialize(root)
    out: list[float] = []
    while len(out) < QUESTIONS:
        status = client.request("promptls/status", {}, WAIT_S)
        if status["state"] in ("ready", "degraded"):
            break
        if status["state"] == "indexing":
            question = questions[len(out) % len(questions)]
            out += timed([lambda q=question: client.build(q, budget={"tokens": 4000})])  # type: ignore[misc]
        time.sleep(0.2)
    return out


def _to_edit(texts: dict[str, str]) -> tuple[Path, str] | None:
    """Return the file whose length is closest to 2,000 lines."""
    found = min((p for p in texts if p.endswith(".py")), key=lambda p: abs(texts[p].count("\n") - 2000), default=None)
    return (Path(found), texts[found]) if found is not None else None


def _prompts(client: Client, questions: list[str]) -> tuple[list[float], dict[str, float]]:
    """Return (seconds of prompts of 4,000 tokens, medians of their stages)."""
    times: list[float] = []
    parts: dict[str, list[float]] = {}
    for question in questions:
        start = time.perf_counter()
        result = client.build(question, budget={"tokens": 4000})
        times.append(time.perf_counter() - start)
        stages = {stage["name"]: stage["ms"] / 1000 for stage in result["trace"]["stages"]}
        for name, took in {**stages, "around": times[-1] - sum(stages.values())}.items():
            parts.setdefault(name, []).append(took)
    return times, {name: statistics.median(took) for name, took in parts.items()}


def _edits(client: Client, path: Path, text: str, ask: Callable[[Client, str], None]) -> list[float]:
    """Return the seconds from a didChange that adds a function to a response with it; `ask` receives its name."""
    client.open(path, text)
    lines, out = text.count("\n"), []
    for n in range(EDITS):
        where, name = {"line": lines, "character": 0}, f"freshly_typed_{n}"
        change = {"range": {"start": where, "end": where}, "text": f"def {name}(x):\n    return x * {n}\n"}
        start = time.perf_counter()
        client.change(path, n + 2, change)
        ask(client, name)
        out.append(time.perf_counter() - start)
        lines += 2
    client.close(path)
    return out


def _in_completion(client: Client, name: str) -> None:
    """Request a completion. Symbols, terms and vectors are published together, so the symbol represents all of them."""
    typed = f"@#{name}"
    result = client.request("promptls/completeMention", {"text": typed, "offset": len(typed)}, WAIT_S)
    assert name in str(result["items"])


def _in_prompt(client: Client, name: str) -> None:
    result = client.build(f"what does @#{name} return?", budget={"tokens": 2000})
    assert f"def {name}(x):" in result["prompt"]


def popular(texts: Iterable[str]) -> str:
    """Return the name of the most frequently called function with a unique name."""
    defined, called = Counter[str](), Counter[str]()
    for text in texts:
        defined.update(_DEF.findall(text))
        called.update(_CALL.findall(text))
    return max((name for name, n in defined.items() if n == 1), key=lambda name: (called[name], name), default="main")


def _whole(client: Client, function: str) -> dict[str, tuple[float, float]]:
    """Return the seconds of questions about the whole workspace, by question."""
    out = {}
    for asked in WHOLE:
        question = f"{asked}:{function}" if asked in ("@callers", "@tests") else asked
        first, *later = timed([lambda q=question: client.build(q, budget={"tokens": 4000})] * (1 + AGAIN))  # type: ignore[misc]
        out[asked] = first, statistics.median(later)
    graph = {"query": "where is a value stored and read again"}
    first, *later = timed([lambda: client.request("promptls/graph", graph, WAIT_S)] * (1 + AGAIN))
    return {**out, "promptls/graph": (first, statistics.median(later))}


def measure(root: Path, report: Callable[[str], None] = lambda line: None) -> Figures:
    """Measure all figures of one folder."""
    texts = texts_of(root)
    questions = questions_in(texts.values())
    megabytes, lines, files = (
        sum(map(len, texts.values())) / 1e6,
        sum(t.count("\n") for t in texts.values()),
        len(texts),
    )
    report(f"{root.name}: {files:,} files, {lines:,} lines")
    bare = bare_parse(texts.items())
    edited, function = _to_edit(texts), popular(texts.values())
    texts.clear()  # frees the memory for the server
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder) / "cache")
        usable, ready, took = _first_scan(client, root)
        held = client.request("promptls/status", {}, WAIT_S)["roots"][0]
        client.stop()
        bare = (
            bare + bare_parse(texts_of(root).items())
        ) / 2  # mean of before and after, because the speed of the machine varies
        report(f"first scan {ready:.1f} s, {ready / bare:.1f} × the bare parse; usable after {usable:.1f} s")
        (Path(folder) / "second").mkdir()
        client = Client(Path(folder) / "second" / "cache")
        busy = _busy(client, root, questions)
        client.stop()  # the rest of this scan is not needed
        report(f"{len(busy)} prompts while it scans")
        start = time.perf_counter()
        client = Client(Path(folder) / "cache")
        client.initialize(root)
        client.wait_indexed(timeout=WAIT_S)
        warm = time.perf_counter() - start
        report(f"warm start {warm:.2f} s")
        timed([lambda q=q: client.build(q) for q in questions[:10]])  # type: ignore[misc]
        short, stages = _prompts(client, questions)
        whole = two(timed([lambda q=q: client.build(q, budget={"tokens": 20000}) for q in questions]))  # type: ignore[misc]
        found = two(timed([lambda q=q: client.search(q) for q in questions]))  # type: ignore[misc]
        report(f"prompt {1000 * two(short)[0]:.0f} / {1000 * two(short)[1]:.0f} ms")
        typed = two(_edits(client, *edited, _in_prompt)) if edited else (0.0, 0.0)
        seen = two(_edits(client, *edited, _in_completion)) if edited else (0.0, 0.0)
        idle = threading.Event()
        idle.wait(40.0)  # until idle processes have ended
        before = spent(client.process.pid)
        idle.wait(20.0)
        after = spent(client.process.pid)
        figures = Figures(
            files=files,
            lines=lines,
            megabytes=megabytes,
            chunks=held["chunks"],
            symbols=held["symbols"],
            bare=bare,
            ready=ready,
            spent=took,
            usable=usable,
            busy=two(busy) if busy else (0.0, 0.0),
            warm=warm,
            prompt=two(short),
            stages=stages,
            long_prompt=whole,
            search=found,
            edit=typed,
            seen=seen,
            edited_lines=edited[1].count("\n") if edited else 0,
            memory=resident(client.process.pid),
            peak=peak(client.process.pid),
            disk=client.request("promptls/status", {}, WAIT_S)["disk"]["bytes"] / max(1, held["chunks"]),
            cpu=(after[0] - before[0]) / 20.0,
            writes=after[1] - before[1],
            whole=_whole(client, function),
        )
        client.stop()
    return figures


def rows_of(figures: Figures) -> list[tuple[str, str]]:
    """Return the figures as rows of text."""

    def pair(value: tuple[float, float]) -> str:
        return f"{1000 * value[0]:.0f} / {1000 * value[1]:.0f} ms"

    f = figures
    return [
        ("files, lines, chunks", f"{f.files:,}, {f.lines:,}, {f.chunks:,}"),
        ("bare parse, one thread", f"{f.bare:.2f} s"),
        ("first scan to ready", f"{f.ready:.1f} s = {f.ready / f.bare:.1f} × the bare parse"),
        ("usable ÷ ready", f"{f.usable / f.ready:.2f}"),
        ("buildPrompt while it scans", pair(f.busy)),
        ("warm start", f"{f.warm:.2f} s"),
        ("buildPrompt, 4,000 tokens", pair(f.prompt)),
        ("buildPrompt, 20,000 tokens", pair(f.long_prompt)),
        ("search", pair(f.search)),
        (f"didChange to a completion with it, {f.edited_lines:,} lines", pair(f.seen)),
        ("didChange to a prompt with it", pair(f.edit)),
        ("memory, all processes, idle", f"{f.memory:.0f} MB"),
        ("peak of the server", f"{f.peak:.0f} MB"),
        ("disk", f"{f.disk:,.0f} bytes per chunk"),
        ("idle: CPU, bytes written", f"{100 * f.cpu:.2f} %, {f.writes:,}"),
        *((f"{asked} (first, later)", pair(took)) for asked, took in f.whole.items()),
    ]
