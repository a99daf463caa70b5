"""server/BENCHMARKS.md: every figure beside its target, on workspaces of several sizes, with a plot of the growth.

Figures are kept in results.json beside this file, so that a part can be measured anew by itself.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import completion, driven, growth, peers
from benchmarks.workspaces import WORKSPACES

HERE = Path(__file__).resolve().parent
SERVER = HERE.parents[1] / "server"
PARTS = ("completion", "growth")


def write(kept: Path, only: list[str], into: Path | None, python: str | None, model: str | None) -> None:
    """Measure, keep the figures, write page and plot; all into a folder, or each to its place in the repository."""
    kept.mkdir(parents=True, exist_ok=True)
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
    figures_file = (into or HERE) / "results.json"
    known = [*WORKSPACES, *PARTS]
    if wrong := [name for name in only if name not in known]:
        raise SystemExit(f"There is no {wrong[0]!r}; there are {', '.join(known)}.")
    results: dict[str, Any] = json.loads(figures_file.read_text("utf-8")) if figures_file.exists() else {}
    for name in only or known:
        if name == "completion":
            results[name] = completion.measure()
        elif name == "growth":
            results[name] = {str(size): pair for size, pair in growth.measure().items()}
        else:
            root = WORKSPACES[name][1](kept, name)
            figures = msgspec.to_builtins(driven.measure(root, print))
            figures["ripgrep"] = peers.ripgrep(root)
            figures["semble"] = peers.semble(root, python, model, kept / "semble")
            results[name] = figures
        figures_file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (into or SERVER).joinpath("BENCHMARKS.md").write_text(page(results), encoding="utf-8")
    plot(results, (into or SERVER) / "benchmarks.svg")


def page(results: dict[str, Any]) -> str:
    """The page, from the figures."""
    out = [
        "# Benchmarks",
        "",
        "Written by `scripts/bench report`; do not edit. Each workspace is measured in one run: bare parse, server, peers one",
        "after the other. Times of prompts are those that a client sees, over stdio.",
        "",
        f"Machine: {platform.system()} {platform.machine()}, {_cores()} cores, Python {platform.python_version()}"
        f"{' as the system brings it' if _distributed() else ''}.",
        "",
    ]
    names = [name for name in WORKSPACES if name in results]
    found = {name: results[name] for name in names}
    out += [
        "| measure | target | " + " | ".join(names) + " |",
        "| --- | --- |" + " --- |" * len(names),
    ]
    for label, target, show in _MEASURES:
        out.append(f"| {label} | {target} | " + " | ".join(show(found[name]) for name in names) + " |")
    out += ["", *(f"- **{name}**: {WORKSPACES[name][0]}." for name in names), ""]
    out += ["## Where the time goes", "", "Medians of the parts of a prompt of 4,000 tokens, in milliseconds.", ""]
    parts = list(dict.fromkeys(part for name in names for part in found[name]["stages"]))
    out += ["| part | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for part in parts:
        out.append(f"| {part} | " + " | ".join(f"{1000 * found[n]['stages'].get(part, 0):.1f}" for n in names) + " |")
    out += ["", "Processor seconds of a first scan, and how many times the bare parse that is.", ""]
    out += ["| process | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for i, who in enumerate(("server", "workers and keeper")):
        cells = (f"{found[n]['spent'][i]:.1f} ({found[n]['spent'][i] / found[n]['bare']:.1f})" for n in names)
        out.append(f"| {who} | " + " | ".join(cells) + " |")
    out += [""]
    asked = list(dict.fromkeys(one for name in names for one in found[name].get("whole", ())))
    out += [
        "## What is asked of a whole workspace",
        "",
        "Milliseconds of a prompt or a search that looks at all of it: the first time, and the median of five more. `@callers`",
        "and `@tests` are those of the function that is called most often. `@text` and `@regex` look for 2 s, `@pattern`",
        "for 4; what they have found by then is the answer, and says so.",
        "",
    ]
    out += ["| asked | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for one in asked:
        pairs = (found[name].get("whole", {}).get(one) for name in names)
        cells = (f"{1000 * pair[0]:,.0f} / {1000 * pair[1]:,.0f}" if pair else "" for pair in pairs)
        out.append(f"| {one.replace('|', chr(92) + '|')} | " + " | ".join(cells) + " |")
    out += [""]
    if "growth" in results:
        out += ["## Growth", "", "![how times grow](benchmarks.svg)", ""]
        out += [
            "What looks at every row (similarities and keywords), on made-up rows. All else that a prompt takes looks at a few",
            "hundred places, however large the workspace is: as long as in *packages*. Target: a question takes no more than",
            "logarithmically longer.",
            "",
        ]
        small = found["packages"]["prompt"][0] if "packages" in found else None
        out += [growth.table({int(size): tuple(pair) for size, pair in results["growth"].items()}, small), ""]
    if "completion" in results:
        out += [
            "## Completion",
            "",
            f"{completion.PATHS:,} paths and {completion.SYMBOLS:,} symbols; target: 95th percentile of 30 ms.",
            "",
        ]
        out += ["| typed | p50 ms | p95 ms |", "| --- | --- | --- |"]
        out += [f"| {what} | {1000 * m:.1f} | {1000 * h:.1f} |" for what, (_, m, h) in results["completion"].items()]
    return "\n".join(out).rstrip() + "\n"


def _cores() -> int:
    import os

    return os.cpu_count() or 1


def _distributed() -> bool:
    """Whether this is the Python of the system, built with the profile of a run: a sixth faster than one without."""
    return Path(sys.executable).resolve().parent == Path("/usr/bin")


def _pair(name: str) -> Any:
    return lambda f: f"{1000 * f[name][0]:.0f} / {1000 * f[name][1]:.0f} ms"


def _seconds(name: str) -> Any:
    return lambda f: f"{f[name]:.2f} s" if f.get(name) is not None else ""


_MEASURES: list[tuple[str, str, Any]] = [
    ("files", "", lambda f: f"{f['files']:,}"),
    ("lines", "", lambda f: f"{f['lines']:,}"),
    ("chunks", "", lambda f: f"{f['chunks']:,}"),
    ("bare parse, one thread", "", _seconds("bare")),
    ("first scan to ready", "", _seconds("ready")),
    ("÷ bare parse", "≤ 3.5", lambda f: f"{f['ready'] / f['bare']:.1f}"),
    ("semble's index", "", _seconds("semble")),
    ("ready ÷ semble", "≤ 1.5", lambda f: f"{f['ready'] / f['semble']:.1f}" if f.get("semble") else ""),
    ("ripgrep, one search", "", _seconds("ripgrep")),
    ("usable ÷ ready", "≤ 0.5", lambda f: f"{f['usable'] / f['ready']:.2f}"),
    ("buildPrompt while it scans, p50 / p95", "≤ 150 ms p95", _pair("busy")),
    ("warm start", "≤ 2 s", _seconds("warm")),
    ("buildPrompt of 4,000 tokens, p50 / p95", "≤ 25 / 50 ms", _pair("prompt")),
    ("buildPrompt of 20,000 tokens, p50 / p95", "", _pair("long_prompt")),
    ("search, p50 / p95", "", _pair("search")),
    ("didChange to a completion with it, p50 / p95", "≤ 25 ms p95", _pair("seen")),
    ("didChange to a prompt with it, p50 / p95", "", _pair("edit")),
    ("lines of the file that was edited", "", lambda f: f"{f['edited_lines']:,}"),
    ("memory of all processes, idle", "≤ 400 MB", lambda f: f"{f['memory']:.0f} MB"),
    ("disk, bytes a chunk", "≤ 3,000", lambda f: f"{f['disk']:,.0f}"),
    ("idle: processor", "< 0.5 %", lambda f: f"{100 * f['cpu']:.2f} %"),
    ("idle: bytes written", "0", lambda f: f"{f['writes']:,}"),
]


def plot(results: dict[str, Any], file: Path) -> None:
    """Times against size, on logarithmic scales."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "promptls"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    found = sorted((results[n]["lines"], results[n]) for n in WORKSPACES if n in results)
    lines = [size for size, _ in found]
    for label, key, style in (
        ("first scan", "ready", "o-"),
        ("bare parse", "bare", "s--"),
        ("warm start", "warm", "^-"),
    ):
        left.plot(lines, [f[key] for _, f in found], style, label=label)
    if any(f.get("semble") for _, f in found):
        pairs = [(size, f["semble"]) for size, f in found if f.get("semble")]
        left.plot(*zip(*pairs, strict=True), "x--", label="semble's index")
    left.set(
        xscale="log", yscale="log", xlabel="lines of code", ylabel="seconds", title="From nothing, and from the cache"
    )
    chunks = sorted((results[n]["chunks"], 1000 * results[n]["prompt"][0]) for n in WORKSPACES if n in results)
    right.plot(*zip(*chunks, strict=True), "o-", label="buildPrompt, p50")
    if "growth" in results:
        pairs = sorted((int(size), 1000 * pair[0]) for size, pair in results["growth"].items())
        right.plot(*zip(*pairs, strict=True), "s-", label="looking at every row, p50")
    right.set(xscale="log", yscale="log", xlabel="chunks", ylabel="milliseconds", title="A question")
    for axes in (left, right):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
