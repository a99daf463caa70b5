"""Which files differ between commits, the index and the working tree, and the texts that they had.

Asked in git's forms for programs: names come in records, texts by the ids of their objects, so that nothing that a
configuration says of how differences look is heard.  Must not know what may be shown, or how.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from promptls.git.runner import MOST_BYTES, Answer, ask, without_filters
from promptls.index import files
from promptls.model import CancelToken, Problem

MOST_RENAMES = 1_000  # files on either side, beyond which only renames without a change are found

_ABSENT = "000000"
_SUBMODULE = "160000"
_TOO_MANY = Problem("More files differ than git can name in time.")


class Version(Struct, frozen=True):
    """A file on one side of a comparison."""

    mode: str  # as git writes it
    id: str = ""  # of its object; "" for what is in the working tree now

    @property
    def submodule(self) -> bool:
        return self.mode == _SUBMODULE


class Difference(Struct, frozen=True):
    """A file that differs, names relative to the folder that was asked about; None where it is not there."""

    name: str
    was: str  # what it was called, mostly the same
    old: Version | None
    new: Version | None
    conflict: bool = False  # a merge has left it to be resolved


NEW = Version("100644")
"""A file that git does not know yet."""


def between(folder: str, first: str, last: str, token: CancelToken | None = None) -> list[Difference] | Problem:
    """The files below a folder that differ between two commits or trees (ids); one that was renamed is one file."""
    return _differing(folder, ("--find-renames", f"-l{MOST_RENAMES}", first, last), {}, token)


def staged(folder: str, base: str, token: CancelToken | None = None) -> list[Difference] | Problem:
    """The files below a folder that differ between a commit or tree (id) and the index."""
    return _differing(folder, ("--no-renames", "--cached", base), {}, token)


def working(folder: str, base: str = "", token: CancelToken | None = None) -> list[Difference] | Problem:
    """The files below a folder that differ between a commit or tree (id), or the index, and the working tree.

    No filter of the repository's cleans them for that, and nobody looks into submodules, where that would be another
    repository's.  A file that git does not track is none of them.
    """
    safe = without_filters(folder, token)
    if isinstance(safe, Problem):
        return safe
    return _differing(folder, ("--no-renames", *([base] if base else [])), safe, token)


def untracked(folder: str, token: CancelToken | None = None) -> list[str] | Problem:
    """The names of the files below a folder that git neither tracks nor ignores."""
    got = ask(folder, "ls-files", "--others", "--exclude-standard", "-z", token=token)
    if isinstance(got, Problem) or not got.whole:
        return got if isinstance(got, Problem) else _TOO_MANY
    names = (os.fsdecode(raw) for raw in got.out.split(b"\0")[:-1])
    return [name for name in names if not name.endswith("/")]  # a repository inside


def texts(
    folder: str, ids: Iterable[str], most: int, token: CancelToken | None = None
) -> dict[str, str | Problem] | Problem:
    """The texts of objects by their ids; one that is binary, over `most` bytes or not here has none."""
    wanted = list(dict.fromkeys(ids))
    told = ask(folder, "cat-file", "--batch-check", data=_lines(wanted), token=token) if wanted else Answer(b"")
    if isinstance(told, Problem):
        return told
    sizes = {id: size for id, size, _ in _objects(told.out, sizes_only=True)}
    found: dict[str, str | Problem] = {}
    left = MOST_BYTES
    for id in wanted:
        size = sizes.get(id, 0)
        if size > most:
            found[id] = Problem(files.too_big(size, most))
        elif size > left:
            found[id] = Problem("too much else has changed")
        left -= size if id not in found else 0
    here = [id for id in wanted if id in sizes and id not in found]
    got = ask(folder, "cat-file", "--batch", data=_lines(here), most=2 * MOST_BYTES, token=token) if here else None
    if isinstance(got, Problem):
        return got
    for id, _, data in _objects(got.out) if got is not None else ():
        text = files.decoded(data)
        found[id] = Problem("it is a binary file") if text is None else text
    return {id: found.get(id, Problem("git could not give it")) for id in wanted}


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()


def _objects(out: bytes, sizes_only: bool = False) -> Iterator[tuple[str, int, bytes]]:
    """(id, size, content) of each file: `<id> blob <size>`, and its content on lines of its own if it was asked for."""
    at = 0
    while (end := out.find(b"\n", at)) >= 0:
        id, _, rest = out[at:end].decode("ascii", "replace").partition(" ")
        kind, _, size = rest.partition(" ")
        at = end + 1
        if not size.isdigit():  # "missing"
            continue
        length = 0 if sizes_only else int(size)
        if kind == "blob" and at + length <= len(out):
            yield id, int(size), out[at : at + length]
        at += 0 if sizes_only else length + 1


def _differing(
    folder: str, sides: tuple[str, ...], configuration: Mapping[str, str], token: CancelToken | None
) -> list[Difference] | Problem:
    got = ask(
        folder, "diff", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=dirty", "--relative",
        *sides, "--", token=token, configuration=configuration,
    )  # fmt: skip
    if isinstance(got, Problem) or not got.whole:
        return got if isinstance(got, Problem) else _TOO_MANY
    found: dict[str, Difference] = {}
    for difference in _records(got.out):
        # A file in conflict comes as such, and once more as it differs from our side.
        before = found.get(difference.name)
        found[difference.name] = replace(difference, conflict=True) if before and before.conflict else difference
    return list(found.values())


def _records(out: bytes) -> Iterator[Difference]:
    """`:<mode> <mode> <id> <id> <status>` and one name or two, each with a NUL behind it."""
    fields = iter(out.split(b"\0"))
    for field in fields:
        if not field:
            return
        old_mode, new_mode, old_id, new_id, status = field[1:].decode("ascii", "replace").split(" ")
        was = os.fsdecode(next(fields, b""))
        name = os.fsdecode(next(fields, b"")) if status[0] in "RC" else was
        yield Difference(name, was, _version(old_mode, old_id), _version(new_mode, new_id), status == "U")


def _version(mode: str, id: str) -> Version | None:
    return Version(mode, id if id.strip("0") else "") if mode != _ABSENT else None
