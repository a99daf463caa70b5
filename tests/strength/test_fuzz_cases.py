"""Every case that a fuzzer has ever found, and a few thousand inputs made from good ones by tampering."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "fuzzing"))

import targets  # noqa: E402
from tally import Tries  # noqa: E402

CASES = sorted(file for file in (HERE / "cases").rglob("*") if file.is_file() and file.name != ".gitkeep")
BASE = {"chunks": 150, "patterns": 100, "renderer": 120, "pack": 120}
SPICE = [b"@", b'"', b"\\", b"\0", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\r", b"\n", b"```", b"</context-", b"{{", b"+++\n", b"[" * 60,
         b"(" * 300, b"**/", b"!", b"$$$", b"-----BEGIN PRIVATE KEY-----", b"password=", b"\xe2\x80\xa8", b"\x0c", b"Content-Length: ", b"9" * 30]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda file: f"{file.parent.name}-{file.name[:20]}")
@pytest.mark.parametrize("name", list(targets.TARGETS))
def test_a_case_that_was_found_once(name: str, case: Path) -> None:
    targets.timed(targets.TARGETS[name], case.read_bytes())


@pytest.mark.parametrize("name", list(targets.TARGETS))
def test_tampered_inputs(name: str, effort: float, tries: Tries) -> None:
    rng = random.Random(name)
    good = targets.seeds(name)
    for number in range(max(1, int(BASE.get(name, 500) * effort))):
        data = bytearray(rng.choice(good))
        for _ in range(rng.randrange(1, 9)):
            at = rng.randrange(len(data) + 1)
            deed = rng.randrange(5)
            if deed == 0:
                data[at:at] = rng.choice(SPICE)
            elif deed == 1:
                del data[at : at + rng.randrange(1, 20)]
            elif deed == 2 and at < len(data):
                data[at] = rng.randrange(256)
            elif deed == 3:
                data[at:at] = data[: rng.randrange(len(data) + 1)]
            else:
                data[at:at] = rng.choice(good)[:50]
            del data[4096:]
        tries("inputs")
        try:
            targets.timed(targets.TARGETS[name], bytes(data))
        except BaseException:
            print(f"{name}, input {number}: {bytes(data)!r}")
            raise
