"""Training step `collect`: packages → archives.

Archives are downloaded with the clients of the registries, in the versions of packages.tsv: Debian 12 packages with
sources (`apt-get download`), Debian source packages (`apt-get source`, with deb-src enabled) and npm tarballs
(`npm pack`). Existing archives are kept; packages that cannot be downloaded are reported and skipped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("packages.tsv")
CONNECTIONS = 10
COMMANDS = {
    "deb": ("apt-get", "-q", "-q", "download"),
    "source": ("apt-get", "-q", "-q", "source", "--download-only"),
    "npm": ("npm", "pack", "--silent"),
}


class Package(NamedTuple):
    """A line of packages.tsv."""

    role: str  # "train", or "held": a project whose bodies must not be trained on
    kind: str
    name: str
    version: str
    licence: str

    @property
    def pinned(self) -> str:
        """Return name and version in the notation of the registry client."""
        return f"{self.name}{'@' if self.kind == 'npm' else '='}{self.version}"


def packages() -> list[Package]:
    """Return the packages of packages.tsv."""
    rows = LIST.read_text("utf-8").splitlines()
    return [Package(*row.split("\t")) for row in rows if row and not row.startswith("#")]


def collect(work: Path) -> None:
    """Download all packages into `archives` and `blocked`."""
    for role, folder in (("train", "archives"), ("held", "blocked")):
        into = work / folder
        into.mkdir(parents=True, exist_ok=True)
        here = {_name(file) for file in into.iterdir()}
        wanted = [p for p in packages() if p.role == role and p.name.lstrip("@").replace("/", "-") not in here]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for kind, failed in pool.map(_fetch, _jobs(wanted), repeat(into)):
                for package in failed:
                    print(f"cannot be had: {kind} {package}", flush=True)
        print(f"{role}: {sum(1 for _ in into.iterdir())} files", flush=True)


def _name(file: Path) -> str:
    """Return the package of an archive; npm writes @a/b as a-b-VERSION.tgz."""
    return file.name.rsplit("-", 1)[0] if file.suffix == ".tgz" else file.name.split("_")[0]


def _jobs(wanted: Sequence[Package]) -> Iterator[tuple[str, list[Package]]]:
    """Return download jobs: binary packages in batches, others alone because one failure fails the whole call."""
    for kind, size in (("deb", 50), ("source", 1), ("npm", 1)):
        those = [p for p in wanted if p.kind == kind]
        for at in range(0, len(those), size):
            yield kind, those[at : at + size]


def _fetch(job: tuple[str, list[Package]], into: Path) -> tuple[str, list[str]]:
    """Return (kind, packages that failed); a failed call is repeated package by package."""
    kind, those = job
    done = subprocess.run([*COMMANDS[kind], *(p.pinned for p in those)], cwd=into, capture_output=True)
    if done.returncode == 0:
        return kind, []
    if len(those) == 1:
        return kind, [those[0].pinned]
    return kind, [name for p in those for name in _fetch((kind, [p]), into)[1]]
