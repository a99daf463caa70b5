"""Training step `extract`: archives → records.

Each permissively licensed package that is not held out is read from its archive without unpacking, and cut into records
(see `pairs`), one JSON line each. There is one file per package, so that an interrupted run continues where it stopped.
Held-out packages are read first: a body that occurs in one of them does not become a record.
"""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import tarfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from promptls.languages import language_of
from training import holdout, licences, pairs

MAX_FILE = 400_000
MAX_FILES = 1500  # maximum number of files per package, drawn at random
MAX_SECONDS = 40.0  # CPU seconds per package
MAX_RECORDS = 5000  # maximum per package
_EXTENSIONS = frozenset(
    ".py .js .jsx .mjs .cjs .ts .tsx .mts .go .rs .java .c .h .cc .cpp .cxx .hh .hpp .hxx .cs .rb .php .kt .kts .swift "
    ".scala .lua .ex .exs .md .markdown".split()
)
_ARCHIVE = re.compile(r"\.deb$|\.tgz$|\.orig(-[\w-]+)?\.tar\.\w+$")
_OUTPUT = re.compile(r"(?:^|/)(?:dist|build|lib|esm|cjs|es|umd|out|_esm|_cjs|_types|esm5|esm2015|fesm\d*|types)/")


def extract(work: Path, held: Sequence[Path], processes: int) -> None:
    """Write `records/PACKAGE.jsonl` for each archive in `archives`, and the hashes of `blocked` and `held`."""
    out = work / "records"
    out.mkdir(exist_ok=True)
    blocked = work / "blocked.txt"
    packages = sorted((work / "archives").iterdir())
    with Pool(processes, maxtasksperchild=200) as pool:
        if not blocked.exists():
            found: set[str] = set()
            archives = (file for file in (work / "blocked").iterdir() if _ARCHIVE.search(file.name))
            for hashes in pool.imap_unordered(_hashes, sorted([*archives, *held])):
                found |= hashes
            blocked.write_text("\n".join(sorted(found)))
        jobs = [(archive, out) for archive in packages if _ARCHIVE.search(archive.name)]
        random.Random(0).shuffle(jobs)
        started = time.monotonic()
        for n, line in enumerate(pool.imap_unordered(_package, jobs)):
            if line:
                print(f"{time.monotonic() - started:6.0f}s {n + 1}/{len(jobs)} {line}", flush=True)


def _hashes(source: Path) -> set[str]:
    """Return the hashes of the bodies in an archive or a folder."""
    found: set[str] = set()
    for path, text in _files(source):
        found.update(r["hash"] for r in pairs.records(path, text, language_of(path, text[:4096])))
    return found


def _package(job: tuple[Path, Path]) -> str:
    """Extract one package and return a summary."""
    archive, folder = job
    out = folder / f"{archive.name}.jsonl"
    if out.exists():
        return ""
    name = archive.name.split("_")[0]
    if holdout.held_out(name):
        return ""
    try:
        head, files = _licensed(archive)
    except (OSError, tarfile.TarError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        return f"{archive.name}: {error}"
    began, rows = time.process_time(), 0
    with out.with_suffix(".part").open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for path, text in files:
            if time.process_time() - began > MAX_SECONDS or rows >= MAX_RECORDS:
                break
            for record in pairs.records(path, text, language_of(path, text[:4096])):
                file.write(json.dumps(record) + "\n")
                rows += 1
    out.with_suffix(".part").rename(out)
    return f"{name} {head['licence']} {rows}"


def _licensed(archive: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return (description of the package, its files with a permissive licence)."""
    name, version = re.sub(r"\.(orig.*|deb|tgz)$", "", archive.name), ""
    every = _read(archive)
    if archive.suffix == ".tgz":
        manifest = json.loads(next(text for path, text in every if path.count("/") == 0 and path == "package.json"))
        licence = manifest.get("license")
        if not isinstance(licence, str) or not licences.permissive(licence) or holdout.held_out(manifest["name"]):
            return {"name": name, "version": version, "licence": f"left out: {licence}"}, []
        head = {"kind": "npm", "name": manifest["name"], "version": manifest["version"], "licence": licence}
        return head, _chosen(every)
    name, version = archive.name.split("_")[:2]
    version = version.replace("%3a", ":")
    if archive.suffix == ".deb":
        stanzas = licences.declared(
            next((t for p, t in every if p.startswith("usr/share/doc/") and p.endswith("/copyright")), "")
        )
        head = {"kind": "deb", "name": name, "version": version, "licence": licences.main_licence(stanzas)}
        return head, _chosen(every) if licences.all_permissive(stanzas) else []
    packaging = next(archive.parent.glob(f"{name}_*.debian.tar.xz"))
    stanzas = licences.declared(next(t for p, t in _read(packaging, strip=0) if p == "debian/copyright"))
    head = {"kind": "source", "name": name, "version": packaging.name.split("_")[1].removesuffix(".debian.tar.xz")}
    head["licence"] = licences.main_licence(stanzas)
    part = re.search(r"\.orig-([\w-]+)\.tar", archive.name)  # unpacked into a folder of this name
    folder = f"{part[1]}/" if part else ""
    allowed = [(p, t) for p, t in every if licences.permissive(licences.licence_of(stanzas, folder + p))]
    return head, _chosen(allowed)


def _files(source: Path) -> Iterator[tuple[str, str]]:
    every: Iterator[tuple[str, str]]
    if source.is_dir():
        every = (
            (f.relative_to(source).as_posix(), f.read_text("utf-8", "replace")) for f in source.rglob("*") if _small(f)
        )
    else:
        every = iter(_read(source))
    for path, text in every:
        if Path(path).suffix.lower() in _EXTENSIONS and pairs.wanted(path):
            yield path, text


def _small(file: Path) -> bool:
    return file.is_file() and file.suffix.lower() in _EXTENSIONS and file.stat().st_size <= MAX_FILE


def _chosen(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the files to extract: code of the project itself, without copies."""
    own = [
        (path, text)
        for path, text in files
        if Path(path).suffix.lower() in _EXTENSIONS
        and pairs.wanted(path)
        and not holdout.vendored(Path(path).parts[:-1])
    ]
    if any(re.search(r"(?:^|/)src/.*(?<!\.d)\.tsx?$", path) for path, _ in own):
        own = [(path, text) for path, text in own if not _OUTPUT.search(path)]
    random.Random(0).shuffle(own)
    return own[:MAX_FILES]


def _read(archive: Path, strip: int = 1) -> list[tuple[str, str]]:
    """Yield (path without its first `strip` folders, text) of the relevant files of an archive."""
    if archive.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as opened:
            return list(_members(opened, 0))
    with tarfile.open(archive) as opened:
        return list(_members(opened, strip))


def _members(opened: tarfile.TarFile, strip: int) -> Iterator[tuple[str, str]]:
    for member in opened:
        path = member.name.removeprefix("./")
        name = path.rsplit("/", 1)[-1]
        if not member.isfile() or member.size > MAX_FILE:
            continue
        if Path(name).suffix.lower() in _EXTENSIONS or name in ("copyright", "package.json"):
            handle = opened.extractfile(member)
            text = handle.read().decode("utf-8", "replace") if handle else ""
            yield "/".join(path.split("/")[strip:]), text
