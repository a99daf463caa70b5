"""Check that all dependencies resolve to wheels for every supported Python and platform.

Each combination is resolved by `uv pip compile --only-binary :all:` without installing anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
EXTRAS = ("llm", "mcp", "openai", "team", "tiktoken")
MACOS = "14.0"
"""Oldest supported macOS; onnxruntime for Python 3.14 has no wheels for older versions."""


def failure(python: str, platform: str) -> str | None:
    """Return why the dependencies do not resolve, or None if they do."""
    extras = [option for extra in EXTRAS for option in ("--extra", extra)]
    target = ["--python-version", python, "--python-platform", platform]
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "pyproject.toml", *extras, *target]
    env = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
    done = subprocess.run(
        [*command, "--only-binary", ":all:"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else done.stderr.strip()


def main() -> int:
    """Print the combinations that fail; return the exit status."""
    targets = list(product(PYTHONS, PLATFORMS))
    with ThreadPoolExecutor(4) as threads:
        reasons = list(threads.map(failure, *zip(*targets, strict=True)))
    failures = [(target, why) for target, why in zip(targets, reasons, strict=True) if why is not None]
    for (python, platform), why in failures:
        print(f"Python {python} on {platform}: {why}", file=sys.stderr)
    if not failures:
        print(f"Wheels found for Python {PYTHONS[0]} to {PYTHONS[-1]} on {len(PLATFORMS)} platforms.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
