"""Plot of the time of a query and of the memory of the reader by the number of chunks of a team index.

`scripts/evaluate team_plot FILE.json … --output FILE.svg` reads the results of `scripts/evaluate team_scale --json`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Write the plot."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    parser = argparse.ArgumentParser(prog="scripts/evaluate team_plot")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    results = sorted((json.loads(file.read_text()) for file in options.files), key=lambda result: result["chunks"])
    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(9, 3.2))
    for latency in sorted({result.get("latency ms", 0) for result in results}):
        shown = [result for result in results if result.get("latency ms", 0) == latency]
        chunks = [result["chunks"] for result in shown]
        place, line = (f"storage at {latency:g} ms", "o--") if latency else ("folder", "o-")
        for name, color in (("p50 ms", "#4051b5"), ("p95 ms", "#f9a825")):
            values = [result[name] for result in shown]
            times.plot(chunks, values, line, color=color, label=f"{name.split()[0]}, {place}")
        memory.plot(chunks, [result["reader MB"] for result in shown], line, color="#2e7d32", label=place)
    times.set(xscale="log", xlabel="chunks", ylabel="ms per query, warm", ylim=(0, None))
    times.legend(frameon=False)
    memory.legend(frameon=False)
    memory.set(xscale="log", xlabel="chunks", ylabel="private memory, MB", ylim=(0, None))
    for axis in (times, memory):
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(options.output, metadata={"Date": None})
    return 0
