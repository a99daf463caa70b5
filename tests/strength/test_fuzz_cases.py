"""Inputs for which a fuzzer once failed, and several thousand mutations of valid inputs."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER / "fuzzing"))

import targets  # noqa: E402

from tally import Tries  # noqa: E402

CASES = sorted(file for file in (FOLDER / "cases").rglob("*") if file.is_file() and file.name != ".gitkeep")
BASE_COUNTS = {"chunks": 150, "patterns": 100, "renderer": 120, "pack": 120}
INTERESTING_BYTES = [b"@", b'"', b"\\", b"\0", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\r", b"\n", b"```", b"</context-", b"{{", b"+++\n", b"[" * 60,
         b"(" * 300, b"**/", b"!", b"$$$", b"-----BEGIN PRIVATE KEY-----", b"password=", b"\xe2\x80\xa8", b"\x0c", b"Content-Length: ", b"9" * 30]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda file: f"{file.parent.name}-{file.name[:20]}")
@pytest.mark.parametrize("name", list(targets.TARGETS))
def test_recorded_cases(name: str, case: Path) -> None:
    targets.run_timed(targets.TARGETS[name], case.read_bytes())


@pytest.mark.parametrize("name", list(targets.TARGETS))
def test_mutated_inputs(name: str, effort: float, tries: Tries) -> None:
    rng = random.Random(name)
    valid = targets.seeds(name)
    for number in range(max(1, int(BASE_COUNTS.get(name, 500) * effort))):
        data = bytearray(rng.choice(valid))
        for _ in range(rng.randrange(1, 9)):
            at = rng.randrange(len(data) + 1)
            mutation = rng.randrange(5)
            if mutation == 0:
                data[at:at] = rng.choice(INTERESTING_BYTES)
            elif mutation == 1:
                del data[at : at + rng.randrange(1, 20)]
            elif mutation == 2 and at < len(data):
                data[at] = rng.randrange(256)
            elif mutation == 3:
                data[at:at] = data[: rng.randrange(len(data) + 1)]
            else:
                data[at:at] = rng.choice(valid)[:50]
            del data[4096:]
        tries("inputs")
        try:
            targets.run_timed(targets.TARGETS[name], bytes(data))
        except BaseException:
            print(f"{name}, input {number}: {bytes(data)!r}")
            raise
