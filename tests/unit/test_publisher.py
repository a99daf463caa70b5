"""What waits to be written does not grow with what was typed, and what is counted follows what is published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from promptls.index.publisher import DEAD_ROWS, Publisher
from promptls.index.search.row_batch import Rows, rounded, rows_of
from promptls.model import keys_in, names_in, unpack, view_of
from workspaces import snapshot_of


def made(keys: list[bytes]) -> Rows:
    vectors = rounded(np.full((len(keys), 8), 8**-0.5))
    return rows_of(((key, ["some", "terms"]) for key in keys), vectors)


def test_rows_of_texts_that_are_gone_do_not_wait_for_ever(tmp_path: Path) -> None:
    publisher = Publisher()
    publisher.publish(snapshot_of("-- a.py --\ndef f(): ...\n\n\ndef g(): ...\n", tmp_path).files)
    alive = sorted(publisher.columns.view().living())
    publisher.publish({}, made(alive))
    for number in range(4 * DEAD_ROWS):  # each keystroke leaves a text behind
        publisher.publish({}, made([number.to_bytes(16, "big")]))
        assert sum(map(len, publisher.fresh)) <= 2 * len(alive) + DEAD_ROWS + 1
    waiting = {key for part in publisher.fresh for key in part.keys}
    assert set(alive) <= waiting
    assert all(map(publisher.known, alive))
    gone = (0).to_bytes(16, "big")
    assert not publisher.known(gone)  # comes back as a text that nobody has seen


def test_tallies_follow_every_change(tmp_path: Path) -> None:
    publisher = Publisher()
    text = "-- a/one.py --\ndef f(): ...\n\n\ndef g(): ...\n-- b/two.py --\nclass C:\n    def m(self): ...\n-- b/three.txt --\nwords of some length, long enough to be a chunk of their own and more\n"
    snapshot = snapshot_of(text, tmp_path, roots=("a", "b"))
    roots = [root.path for root in snapshot.roots]
    files = dict(snapshot.files)
    skipped = {path: replace(entry, outlined=b"", skipped="binary") for path, entry in files.items()}
    for changes in (files, skipped, files, dict.fromkeys(files), files):
        for path, entry in changes.items():
            publisher.publish({path: entry})
            held = list(publisher.snapshot.files.values())
            for root in roots:
                mine = [e for e in held if e.root == root]
                keys = {key for e in mine for key in keys_in(e.outlined)}
                symbols = sum(len(names_in(e.outlined)) for e in mine)
                counted = (len(mine), symbols, sum(bool(e.skipped) for e in mine), len(keys), 0)
                assert publisher.tally(root) == counted


def test_nothing_is_kept_of_an_outline_that_no_file_has_any_more(tmp_path: Path) -> None:
    publisher = Publisher()
    before = snapshot_of("-- a.py --\ndef f(): ...\n-- b.py --\ndef g(): ...\n", tmp_path).files
    after = snapshot_of("-- a.py --\ndef f(x): ...\n", tmp_path).files
    edited, other = (str(tmp_path / name) for name in ("a.py", "b.py"))
    publisher.publish(before)
    opened = {path: (view_of(entry.outlined), unpack(entry.outlined)) for path, entry in before.items()}
    publisher.publish({edited: after[edited]})
    assert view_of(before[other].outlined) is opened[other][0] and unpack(before[other].outlined) is opened[other][1]
    gone = before[edited].outlined
    assert view_of(gone) is not opened[edited][0] and unpack(gone) is not opened[edited][1]
