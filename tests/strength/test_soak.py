"""A long session of editing leaves nothing behind: memory, handles and disk stay flat, the index equals a fresh one.

Here it is a short one; scripts/soak does a long one and draws it.  Latencies are told by the script, not judged here.
"""

from __future__ import annotations

from pathlib import Path

from tally import Tries

from faultkit import Place, ended, portrait
from soaking import Soak, growth

EDITS = 600
MEMORY_MB = 40
"""What the server may grow by in the second half of a session beside the noise: a text or a tree kept for each edit is
more than that in a long session, and caches that fill up in a short one are less."""


def test_a_session_of_editing(tmp_path: Path, effort: float, tries: Tries) -> None:
    with ended(Place(tmp_path)) as place:
        client = place.start()
        client.wait_indexed()
        soak = Soak(place, client, seed=6)
        soak.run(int(EDITS * effort))
        soak.finish()
        tries("edits", soak.edits)
        tries("prompts", soak.counts["prompt"])
        assert portrait(client) == place.fresh()
        samples = soak.samples
        rise, noise = growth([s.server for s in samples])
        assert rise < MEMORY_MB + noise, [round(s.server) for s in samples]
        rise, noise = growth([float(s.handles) for s in samples])
        assert rise < 4 + noise and samples[-1].handles < 100, [s.handles for s in samples]
        rise, noise = growth([float(s.threads) for s in samples])
        assert rise < 4 + noise and samples[-1].threads < 100, [s.threads for s in samples]
        status = client.wait_indexed()
        alive = status["roots"][0]["chunks"]
        assert status["disk"]["rows"] <= 2 * alive + 5_500  # dead rows that may stay, and those of the last write
        assert status["disk"]["fragments"] <= 80
        assert status["disk"]["bytes"] < 60e6
        counted = soak.counts
        assert all(counted.get(name) for name in ("type", "paste", "undo", "replace", "save", "prompt", "search"))
