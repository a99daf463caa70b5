"""Publisher: unstored rows stay bounded while typing, and counts follow the published files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from promptls.index.publisher import MAX_DEAD_ROWS, Publisher
from promptls.index.search.row_batch import RowBatch, quantize
from promptls.model import decode_chunk_keys, decode_outline, decode_symbol_names, outline_view
from workspaces import build_rows, snapshot_of


def embedded_rows(keys: list[bytes]) -> RowBatch:
    vectors = quantize(np.full((len(keys), 8), 8**-0.5))
    return build_rows(((key, ["some", "terms"]) for key in keys), vectors)


def test_unstored_rows_of_removed_chunks_are_dropped(tmp_path: Path) -> None:
    publisher = Publisher()
    publisher.publish(snapshot_of("-- a.py --\ndef f(): ...\n\n\ndef g(): ...\n", tmp_path).files)
    alive = sorted(publisher.chunk_index.reader().live_keys())
    publisher.publish({}, embedded_rows(alive))
    for number in range(4 * MAX_DEAD_ROWS):  # each keystroke leaves a chunk behind
        publisher.publish({}, embedded_rows([number.to_bytes(16, "big")]))
        assert sum(map(len, publisher.unstored)) <= 2 * len(alive) + MAX_DEAD_ROWS + 1
    waiting = {key for part in publisher.unstored for key in part.keys}
    assert set(alive) <= waiting
    assert all(map(publisher.has_row, alive))
    gone = (0).to_bytes(16, "big")
    assert not publisher.has_row(gone)  # would be embedded again


def test_root_counts_follow_every_change(tmp_path: Path) -> None:
    publisher = Publisher()
    text = "-- a/one.py --\ndef f(): ...\n\n\ndef g(): ...\n-- b/two.py --\nclass C:\n    def m(self): ...\n-- b/three.txt --\nwords of some length, long enough to be a chunk of their own and more\n"
    snapshot = snapshot_of(text, tmp_path, roots=("a", "b"))
    roots = [root.path for root in snapshot.roots]
    files = dict(snapshot.files)
    skipped = {path: replace(entry, encoded_outline=b"", skip_reason="binary") for path, entry in files.items()}
    for changes in (files, skipped, files, dict.fromkeys(files), files):
        for path, entry in changes.items():
            publisher.publish({path: entry})
            entries = list(publisher.snapshot.files.values())
            for root in roots:
                mine = [e for e in entries if e.root == root]
                keys = {key for e in mine for key in decode_chunk_keys(e.encoded_outline)}
                symbols = sum(len(decode_symbol_names(e.encoded_outline)) for e in mine)
                reasons = dict(Counter(e.skip_reason for e in mine if e.skip_reason))
                counted = (len(mine), symbols, reasons, len(keys), 0)
                assert publisher.root_counts(root) == counted


def test_decoded_outlines_of_replaced_files_are_released(tmp_path: Path) -> None:
    publisher = Publisher()
    before = snapshot_of("-- a.py --\ndef f(): ...\n-- b.py --\ndef g(): ...\n", tmp_path).files
    after = snapshot_of("-- a.py --\ndef f(x): ...\n", tmp_path).files
    edited, other = (str(tmp_path / name) for name in ("a.py", "b.py"))
    publisher.publish(before)
    opened = {
        path: (outline_view(entry.encoded_outline), decode_outline(entry.encoded_outline))
        for path, entry in before.items()
    }
    publisher.publish({edited: after[edited]})
    assert (
        outline_view(before[other].encoded_outline) is opened[other][0]
        and decode_outline(before[other].encoded_outline) is opened[other][1]
    )
    gone = before[edited].encoded_outline
    assert outline_view(gone) is not opened[edited][0] and decode_outline(gone) is not opened[edited][1]
