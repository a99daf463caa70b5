"""Conversion to msgspec types from several threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from msgspec import Struct

from promptls.util.decode import convert

pytestmark = pytest.mark.process

FIRST_USE_FROM_8_THREADS = """
import sys, threading
from importlib.resources import files
from promptls.prompt import profile

sys.setswitchinterval(1e-6)  # switch between threads at every opportunity
text = files(profile.__package__).joinpath("profiles/default.toml").read_text()
barrier = threading.Barrier(8)

def parse():
    barrier.wait()
    parsed.append(profile.parse_profile("p", text))

parsed = []
threads = [threading.Thread(target=parse) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(parsed) == 8
"""


@pytest.mark.parametrize("attempt", range(6))  # without the lock, each one crashed with probability one half
def test_first_use_of_a_type_from_several_threads(attempt: int) -> None:
    subprocess.run([sys.executable, "-c", FIRST_USE_FROM_8_THREADS], check=True, capture_output=True, timeout=120)


class Slow(Struct):
    """Waits while it is converted."""

    number: int

    def __post_init__(self) -> None:
        began.set()
        assert released.wait(120)


began, released = threading.Event(), threading.Event()


def test_conversion_does_not_wait_for_a_conversion_of_another_thread() -> None:
    released.set()
    convert({"number": 1}, Slow)
    assert convert([1], list[int]) == [1]
    began.clear()
    released.clear()
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(convert, {"number": 2}, Slow)
        assert began.wait(120)
        with ThreadPoolExecutor(1) as other:
            fast = other.submit(convert, [2], list[int])
            done, _ = wait([fast], timeout=120)
            released.set()
        assert done == {fast}
        assert slow.result().number == 2
