"""A long editing session: memory, handles and disk usage stay flat, and the index equals a new one.

This session is short; scripts/soak runs a long one and reports latencies, which are not checked here.
"""

from __future__ import annotations

from pathlib import Path

from faultkit import Sandbox, closing_servers, index_results
from soak_session import SoakSession, growth
from tally import Tries

EDITS = 600
MEMORY_MB = 40
"""Allowed growth in the second half of a session, in addition to noise.

Keeping a text or a tree for each edit exceeds this in a long session; filling caches in a short one does not.
"""


def test_long_editing_session(tmp_path: Path, effort: float, tries: Tries) -> None:
    with closing_servers(Sandbox(tmp_path)) as sandbox:
        client = sandbox.start()
        client.wait_indexed()
        soak = SoakSession(sandbox, client, seed=6)
        soak.run(int(EDITS * effort))
        soak.finish()
        tries("edits", soak.edits)
        tries("prompts", soak.counts["prompt"])
        assert index_results(client) == sandbox.fresh_index_results()
        samples = soak.samples
        rise, noise = growth([s.server for s in samples])
        assert rise < MEMORY_MB + noise, [round(s.server) for s in samples]
        rise, noise = growth([float(s.handles) for s in samples])
        assert rise < 4 + noise and samples[-1].handles < 100, [s.handles for s in samples]
        rise, noise = growth([float(s.threads) for s in samples])
        assert rise < 4 + noise and samples[-1].threads < 100, [s.threads for s in samples]
        status = client.wait_indexed()
        chunks = status["roots"][0]["chunks"]
        assert status["disk"]["rows"] <= 2 * chunks + 5_500  # allowed dead rows, and the rows of the last write
        assert status["disk"]["fragments"] <= 80
        assert status["disk"]["bytes"] < 60e6
        counted = soak.counts
        assert all(counted.get(name) for name in ("type", "paste", "undo", "replace", "save", "prompt", "search"))
