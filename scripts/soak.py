"""Run a long editing session and record memory, handles, disk and latencies as a table and a picture.

The session is defined in tests/strength/soak_session.py. At the end the index is compared with a fresh one of the same
files. The picture is an SVG file with five panels of lines.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "strength")]

from faultkit import Sandbox, closing_servers, index_results  # noqa: E402
from soak_session import Sample, SoakSession, growth  # noqa: E402

PANELS: list[tuple[str, dict[str, Callable[[Sample], float]]]] = [
    ("resident MB", {"server": lambda s: s.server, "workers": lambda s: s.workers}),
    ("handles, threads", {"handles": lambda s: s.handles, "threads": lambda s: s.threads}),
    ("disk MB", {"disk": lambda s: s.disk}),
    ("rows", {"rows": lambda s: s.rows}),
    ("ms, p50 and p95", {
        f"{what} {name}": lambda s, n=name, w=what: getattr(s, n).get(w, 0.0)
        for what in ("prompt", "search", "complete") for name in ("p50", "p95")
    }),
]  # fmt: skip
COLOURS = ["#1f77b4", "#aec7e8", "#d62728", "#ff9896", "#2ca02c", "#98df8a"]
WIDTH, HEIGHT = 900, 150


def main() -> int:
    """Run the session and print its table; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description="Measure a long editing session.")
    parser.add_argument("edits", type=int, nargs="?", default=50_000)
    parser.add_argument("picture", type=Path, nargs="?", default=Path("soak.svg"), help="an SVG file")
    options = parser.parse_args()
    edits, picture = options.edits, options.picture
    head = f"{'edits':>7} {'s':>6} {'server':>7} {'workers':>7} {'fds':>4} {'thr':>4} {'disk':>6} {'rows':>6}"
    print(head + "   prompt p50/p95   search p50/p95   complete p50/p95", flush=True)
    with tempfile.TemporaryDirectory() as top, closing_servers(Sandbox(Path(top), files=60)) as sandbox:
        client = sandbox.start()
        client.wait_indexed()
        soak = SoakSession(sandbox, client, seed=60)
        soak.run(edits, show)
        soak.finish()
        same = index_results(client) == sandbox.fresh_index_results()
    picture.write_text(svg(soak.samples))
    print("done:", ", ".join(f"{n:,} {name}" for name, n in sorted(soak.counts.items())))
    for title, values in (("server MB", [s.server for s in soak.samples]), ("disk MB", [s.disk for s in soak.samples])):
        rise, noise = growth(values)
        print(f"{title}: {rise:+.1f} over the second half (noise {noise:.1f})")
    print(f"the index {'equals' if same else 'DIFFERS FROM'} a fresh one; picture: {picture}")
    return 0 if same else 1


def show(s: Sample) -> None:
    """Print one row of the table."""
    latencies = "".join(f"   {s.p50.get(w, 0):6.0f} /{s.p95.get(w, 0):6.0f}" for w in ("prompt", "search", "complete"))
    line = f"{s.edits:7,} {s.seconds:6.0f} {s.server:7.0f} {s.workers:7.0f} {s.handles:4} {s.threads:4}"
    print(f"{line} {s.disk:6.1f} {s.rows:6}{latencies}", flush=True)


def svg(samples: list[Sample]) -> str:
    """Return an SVG document with panels of lines."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 220}" height="{len(PANELS) * (HEIGHT + 40)}" '
             'font-family="sans-serif" font-size="12">']  # fmt: skip
    most_edits = max((s.edits for s in samples), default=1)
    for row, (title, lines) in enumerate(PANELS):
        top = row * (HEIGHT + 40) + 20
        most = max((of(s) for of in lines.values() for s in samples), default=1.0) or 1.0
        parts.append(f'<text x="50" y="{top - 6}">{title} (maximum: {most:,.0f})</text>')
        parts.append(f'<rect x="50" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#ccc"/>')
        for number, (name, of) in enumerate(lines.items()):
            points = " ".join(
                f"{50 + WIDTH * s.edits / most_edits:.1f},{top + HEIGHT * (1 - of(s) / most):.1f}" for s in samples
            )
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[number]}" stroke-width="1.5"/>')
            parts.append(f'<text x="{WIDTH + 60}" y="{top + 14 + 16 * number}" fill="{COLOURS[number]}">{name}</text>')
    parts.append(f'<text x="50" y="{len(PANELS) * (HEIGHT + 40) - 4}">0 to {most_edits:,} edits</text></svg>')
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
