"""What waits to be written does not grow with what was typed, only with what stands somewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from promptls.index.publisher import DEAD_ROWS, Publisher
from promptls.index.rows import Rows, rows_of
from workspaces import snapshot_of


def made(keys: list[bytes]) -> Rows:
    vectors = np.full((len(keys), 8), 8**-0.5, np.float16).tobytes()
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
