"""Questions with known answers, and the packages that they are about.

data/*.jsonl contains the questions. Each names the regions that its answer needs: grade 2 is essential, 1 helpful.
Files with questions about repositories can be added: see `add_options`.
Packages are downloaded with the clients of their registries (pip, npm, apt-get) and checked by SHA-256. A folder that
already contains them is used unchanged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from promptls.retrieval.linear_model import RankerWeights
from promptls.retrieval.team_source import TeamWeights

DATA = Path(__file__).with_name("data")
HELD_OUT_TEAM = DATA / "held_out_team.json"
LARGE = frozenset({"sqlalchemy", "pandas", "ansible-core", "webpack", "grpc-go", "tokio", "uvloop", "effect"})
FOLDER = Path(os.environ.get("PROMPTLS_CORPORA", Path.home() / ".cache" / "promptls-corpora"))

_BACKENDS = ("setuptools", "setuptools_scm", "wheel", "flit_core", "hatchling")
_METADATA_ONLY = """
import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    lines = open("PKG-INFO", encoding="utf-8").read().split("\\n")
    name, version = (next(l.split(": ")[1] for l in lines if l.startswith(k)) for k in ("Name: ", "Version: "))
    made = f"{name}-{version}.dist-info"
    os.mkdir(os.path.join(folder, made))
    with open(os.path.join(folder, made, "METADATA"), "w") as file:
        file.write(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return made
"""
"""Replacement for a build backend that would compile the package before pip returns its source."""


class Gold(Struct, frozen=True):
    """A region that an answer needs."""

    path: str
    start: int  # 1-based, inclusive
    end: int
    grade: int  # 2 essential, 1 helpful
    symbol: str = ""


class Question(Struct, frozen=True):
    """One question, a line of the data."""

    id: str
    corpus: str
    lang: str
    kind: str
    style: str  # "gap": uses none of the words of the code
    question: str
    gold: tuple[Gold, ...]


class _RepositoryQuestion(Struct, frozen=True):
    """One question about a repository at a commit."""

    id: str
    repo: str
    commit: str
    lang: str
    style: str
    question: str
    gold: tuple[Gold, ...]
    kind: str = ""


class Corpus(Struct, frozen=True):
    """One package; its tree is the folder `strip_prefix` in the archive `file`."""

    corpus: str
    lang: str
    type: str
    name: str
    version: str
    file: str
    sha256: str
    strip_prefix: str
    exclude: tuple[str, ...] = ()


def questions() -> list[Question]:
    """Return all questions, ordered by corpus."""
    found = [
        msgspec.json.decode(line, type=Question)
        for name in ("small", "large")
        for line in (DATA / f"{name}.jsonl").read_bytes().splitlines()
        if line.strip()
    ]
    order = {name: i for i, name in enumerate(dict.fromkeys(q.corpus for q in found))}
    return sorted(found, key=lambda q: order[q.corpus])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options `--corpora`, `--questions` and `--trees`."""
    parser.add_argument("--corpora", type=Path, default=FOLDER, help="folder of the packages")
    parser.add_argument("--questions", type=Path, nargs="*", default=[], help="files with questions about repositories")
    parser.add_argument(
        "--trees", type=Path, help="folder of their trees: OWNER+NAME@first 12 characters of the commit"
    )


def read_questions(options: argparse.Namespace) -> list[tuple[Path, list[Question]]]:
    """Return the development questions and those of `--questions`, by tree."""
    by_tree: dict[Path, list[Question]] = {}
    for question in questions():
        by_tree.setdefault(tree(question.corpus, options.corpora), []).append(question)
    for file in options.questions:
        for line in file.read_bytes().splitlines():
            read = msgspec.json.decode(line, type=_RepositoryQuestion)
            corpus = f"{read.repo.replace('/', '+')}@{read.commit[:12]}"
            question = Question(read.id, corpus, read.lang, read.kind, read.style, read.question, read.gold)
            by_tree.setdefault(options.trees / corpus, []).append(question)
    return list(by_tree.items())


def held_out_weights() -> dict[str, RankerWeights]:
    """Return, by project, weights of the ranker that were fitted without it."""
    folds = msgspec.json.decode((DATA / "held_out.json").read_bytes(), type=list[tuple[list[str], RankerWeights]])
    return {name: weights for projects, weights in folds for name in projects}


def held_out_team_weights() -> dict[str, TeamWeights]:
    """Return, by project, weights of the team index's hits that were fitted without it."""
    folds = msgspec.json.decode(HELD_OUT_TEAM.read_bytes(), type=list[tuple[list[str], TeamWeights]])
    return {name: weights for projects, weights in folds for name in projects}


def project(corpus: str) -> str:
    """Return the project of a corpus, which is never in two folds: its name without the commit."""
    return corpus.partition("@")[0]


def voice(question: Question) -> str:
    """Return who asks: "own" for the development questions, else the style."""
    return question.style if "@" in question.corpus else "own"


def tree(name: str, folder: Path) -> Path:
    """Return the tree of a package; download it into `folder` if it is missing."""
    dest = folder / name
    if not dest.is_dir():
        corpus = next(c for c in json.loads((DATA / "corpora.json").read_text()) if c["corpus"] == name)
        _unpack(msgspec.convert(corpus, Corpus), folder)
    return dest


def _unpack(corpus: Corpus, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        archive = _fetch(corpus, Path(place), folder)
        if (got := hashlib.sha256(archive.read_bytes()).hexdigest()) != corpus.sha256:
            sys.exit(f"{archive.name}: its SHA-256 is {got}, expected {corpus.sha256}")
        if corpus.type == "deb":
            subprocess.run(["dpkg-deb", "-x", archive, place], check=True)
        else:
            subprocess.run(["tar", "-xzf", archive, "-C", place, "--no-same-owner"], check=True)
        for name in corpus.exclude:
            shutil.rmtree(Path(place) / corpus.strip_prefix / name, ignore_errors=True)
        (Path(place) / corpus.strip_prefix).rename(folder / corpus.corpus)
    run = ["git", "-c", "user.name=e", "-c", "user.email=e@example.org"]
    for command in (["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*run, *command], cwd=folder / corpus.corpus, check=True, stdout=subprocess.DEVNULL)


def _fetch(corpus: Corpus, place: Path, folder: Path) -> Path:
    if corpus.type == "npm":
        command = ["npm", "pack", "--silent", f"{corpus.name}@{corpus.version}"]
    elif corpus.type == "deb":
        command = ["apt-get", "-qq", "download", f"{corpus.name}={corpus.version}"]
    else:
        venv = folder / "build-venv"
        if not venv.is_dir():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin" / "pip", "install", "-q", *_BACKENDS], check=True)
        (place / "mesonpy.py").write_text(_METADATA_ONLY)
        options = ["-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        command = [str(venv / "bin" / "pip"), "download", *options, f"{corpus.name}=={corpus.version}"]
    subprocess.run(command, cwd=place, check=True, env={**os.environ, "PYTHONPATH": str(place)}, stdout=sys.stderr)
    return place / corpus.file
