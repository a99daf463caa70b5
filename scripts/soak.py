"""Run a long editing session and record memory, handles, disk and latencies as a table.

The session is defined in tests/strength/soak_session.py. At the end the index is compared with a fresh one of the same
files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "strength")]

from faultkit import Sandbox, closing_servers, index_results  # noqa: E402
from soak_session import Sample, SoakSession, growth  # noqa: E402


def main() -> int:
    """Run the session and print its table; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description="Measure a long editing session.")
    parser.add_argument("edits", type=int, nargs="?", default=50_000)
    edits = parser.parse_args().edits
    head = f"{'edits':>7} {'s':>6} {'server':>7} {'workers':>7} {'fds':>4} {'thr':>4} {'disk':>6} {'rows':>6}"
    print(head + "   prompt p50/p95   search p50/p95   complete p50/p95", flush=True)
    with tempfile.TemporaryDirectory() as top, closing_servers(Sandbox(Path(top), files=60)) as sandbox:
        client = sandbox.start()
        client.wait_indexed()
        soak = SoakSession(sandbox, client, seed=60)
        soak.run(edits, show)
        soak.finish()
        same = index_results(client) == sandbox.fresh_index_results()
    print("done:", ", ".join(f"{n:,} {name}" for name, n in sorted(soak.counts.items())))
    for title, values in (("server MB", [s.server for s in soak.samples]), ("disk MB", [s.disk for s in soak.samples])):
        rise, noise = growth(values)
        print(f"{title}: {rise:+.1f} over the second half (noise {noise:.1f})")
    print(f"the index {'equals' if same else 'DIFFERS FROM'} a fresh one")
    return 0 if same else 1


def show(s: Sample) -> None:
    """Print one row of the table."""
    latencies = "".join(f"   {s.p50.get(w, 0):6.0f} /{s.p95.get(w, 0):6.0f}" for w in ("prompt", "search", "complete"))
    line = f"{s.edits:7,} {s.seconds:6.0f} {s.server:7.0f} {s.workers:7.0f} {s.handles:4} {s.threads:4}"
    print(f"{line} {s.disk:6.1f} {s.rows:6}{latencies}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
