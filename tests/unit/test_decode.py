"""Conversion to msgspec types from several threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
