"""Benchmark workspaces: real packages from PyPI and generated code, created once and kept in a folder.

Real workspaces are unpacked wheels of fixed versions, and the standard library of the running Python. Generated code
has the shape of real code and is deterministic. Each of its names is unique, which is the harder case for caches by
name.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.completion import WORDS

WHEELS = {
    "packages": ("flask==3.1.2", "click==8.3.1", "jinja2==3.1.6", "werkzeug==3.1.4", "requests==2.32.5"),
    "large": ("sympy==1.14.0", "django==5.2.8", "networkx==3.5"),
}
MANY = 150_000


def real(folder: Path, name: str) -> Path:
    """Unpack the sources of packages into a folder."""
    place = folder / name
    if not place.exists():
        loads = folder / f"{name}.wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", loads, *WHEELS[name]], check=True)
        fresh = folder / f"{name}.unfinished"
        for wheel in sorted(loads.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(fresh / wheel.name.split("-")[0])
        fresh.rename(place)
    return place


def standard_library(folder: Path, name: str) -> Path:
    """Copy the standard library and its tests, without installed packages."""
    place = folder / name
    if not place.exists():
        skip = shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.a", "*.pyc", "config-*")
        shutil.copytree(Path(os.__file__).parent, folder / f"{name}.unfinished", ignore=skip)
        (folder / f"{name}.unfinished").rename(place)
    return place


def _python(rng: random.Random, functions: int) -> Iterator[str]:
    yield f'"""The {rng.choice(WORDS)} of a {rng.choice(WORDS)}."""\n\nimport os\nfrom typing import Any\n'
    for n in range(functions):
        one, two, three = (rng.choice(WORDS) for _ in range(3))
        name = f"{one}_{two}_{rng.randrange(10**6)}"
        yield f'def {name}({two}: Any, {three}_limit: int = {n}) -> int:\n    """Find the {three} of a {two} {one}."""'
        for step in range(rng.randrange(3, 12)):
            word = rng.choice(WORDS)
            yield f"    {word}_{step} = {two}.{word}({three}_limit + {rng.randrange(99)})"
            if step % 3 == 2:
                yield f"    if {word}_{step} is None:\n        raise ValueError({word!r})"
        yield f"    return len(os.fspath({two})) + {three}_limit\n\n"


def generated(files: int, functions: int) -> Callable[[Path, str], Path]:
    """Return a function that generates this many files with this many functions, fifty files per folder."""

    def make(folder: Path, name: str) -> Path:
        place = folder / name
        if not place.exists():
            rng = random.Random(files)
            fresh = folder / f"{name}.unfinished"
            for n in range(files):
                inner = fresh / f"{WORDS[n // 50 % len(WORDS)]}_{n // 50}"
                inner.mkdir(parents=True, exist_ok=True)
                text = "\n".join(_python(rng, functions))
                (inner / f"{rng.choice(WORDS)}_{n}.py").write_text(text, encoding="utf-8")
            fresh.rename(place)
        return place

    return make


WORKSPACES: dict[str, tuple[str, Callable[[Path, str], Path]]] = {
    "packages": ("five small packages", real),
    "generated-small": ("generated, 300 files", generated(300, 20)),
    "stdlib": ("the standard library of Python and its tests", standard_library),
    "generated-medium": ("generated, 3,000 files", generated(3_000, 20)),
    "large": ("SymPy, Django and NetworkX, with their tests", real),
    "generated-large": ("generated, 6,000 files", generated(6_000, 20)),
    "many": (f"generated, {MANY:,} small files", generated(MANY, 1)),
}
