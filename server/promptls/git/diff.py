"""Files that differ between commits, the index and the working tree, and the contents of git objects.

Uses the plumbing formats of git: NUL-separated raw records, and contents by object id. Settings for the display of
diffs have no effect.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from promptls.git.runner import MAX_OUTPUT_BYTES, MISSING_OBJECTS, filter_overrides, query_git
from promptls.index import decode_text, max_raw_size, notebook_text, size_problem
from promptls.model import CancelToken, Problem
from promptls.util.git_process import GitResult

MAX_RENAME_CANDIDATES = 1_000
"""Files on either side above which git detects only renames without a change (`git diff -l`)."""

_ABSENT_MODE = "000000"
_SUBMODULE_MODE = "160000"
_TOO_MANY = Problem("Too many files differ for git to list in time.")


class FileVersion(Struct, frozen=True):
    """A file on one side of a comparison."""

    mode: str  # octal, as in a tree object
    id: str = ""  # object id, "" for the working tree

    @property
    def is_submodule(self) -> bool:
        """Whether the entry is a submodule."""
        return self.mode == _SUBMODULE_MODE


class ChangedFile(Struct, frozen=True):
    """A file that differs. Names are relative to the compared folder."""

    name: str
    old_name: str  # = name unless renamed
    old: FileVersion | None  # None for an added file
    new: FileVersion | None  # None for a deleted file
    conflict: bool = False  # unmerged


UNTRACKED = FileVersion("100644")
"""Working tree version of an untracked file."""


def diff_commits(folder: str, first: str, last: str, token: CancelToken | None = None) -> list[ChangedFile] | Problem:
    """Return the files below a folder that differ between two commit or tree ids, with renames detected."""
    return _diff(folder, ("--find-renames", f"-l{MAX_RENAME_CANDIDATES}", first, last), {}, token)


def diff_index(folder: str, base: str, token: CancelToken | None = None) -> list[ChangedFile] | Problem:
    """Return the files below a folder that differ between a commit or tree id and the index."""
    return _diff(folder, ("--no-renames", "--cached", base), {}, token)


def diff_working_tree(folder: str, base: str = "", token: CancelToken | None = None) -> list[ChangedFile] | Problem:
    """Return the tracked files below a folder that differ between the working tree and a commit or tree id.

    Without `base`, compares with the index. No filter of the repository runs, and submodules are not entered, since
    the filters of a submodule are those of another repository.
    """
    overrides = filter_overrides(folder, token)
    if isinstance(overrides, Problem):
        return overrides
    return _diff(folder, ("--no-renames", *([base] if base else [])), overrides, token)


def untracked_files(folder: str, token: CancelToken | None = None) -> list[str] | Problem:
    """Return the names of the files below a folder that are neither tracked nor ignored."""
    result = query_git(folder, "ls-files", "--others", "--exclude-standard", "-z", token=token)
    if isinstance(result, Problem) or not result.complete:
        return result if isinstance(result, Problem) else _TOO_MANY
    names = (os.fsdecode(raw) for raw in result.stdout.split(b"\0")[:-1])
    return [name for name in names if not name.endswith("/")]  # a nested repository


def read_blobs(
    folder: str,
    ids: Iterable[str],
    max_bytes: int,
    token: CancelToken | None = None,
    paths: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str | Problem] | Problem:
    """Return the text of each object id, or a problem for a binary, missing or too large object.

    `paths` has the path of the file by object id: the text of a notebook are its cells, and the limit applies to them.
    """
    unique_ids = list(dict.fromkeys(ids))
    check = (
        query_git(folder, "cat-file", "--batch-check", data=_lines(unique_ids), token=token)
        if unique_ids
        else GitResult(b"")
    )
    if isinstance(check, Problem) and check.message == MISSING_OBJECTS:
        check = _check_present(folder, unique_ids, token)
    if isinstance(check, Problem):
        return check
    sizes = {id: size for id, size, _ in _parse_objects(check.stdout, sizes_only=True)}
    contents: dict[str, str | Problem] = {}
    remaining_bytes = MAX_OUTPUT_BYTES
    for id in unique_ids:
        size = sizes.get(id, 0)
        if size > (limit := max_raw_size(paths.get(id, ""), max_bytes)):
            contents[id] = Problem(size_problem(size, limit))
        elif size > remaining_bytes:
            contents[id] = Problem("the total size of the changes is over the limit")
        remaining_bytes -= size if id not in contents else 0
    readable = [id for id in unique_ids if id in sizes and id not in contents]
    batch = (
        query_git(folder, "cat-file", "--batch", data=_lines(readable), max_bytes=2 * MAX_OUTPUT_BYTES, token=token)
        if readable
        else None
    )
    if isinstance(batch, Problem):
        return batch
    for id, _, data in _parse_objects(batch.stdout) if batch is not None else ():
        text = notebook_text(paths.get(id, ""), data)
        if text is None and len(data) <= max_bytes:
            decoded = decode_text(data)
            text = decoded.text if decoded is not None else None
        text_size = len(data) if text is None else len(text)
        if text_size > max_bytes:
            contents[id] = Problem(size_problem(text_size, max_bytes))
        else:
            contents[id] = Problem("it is a binary file") if text is None else text
    return {id: contents.get(id, Problem(MISSING_OBJECTS)) for id in unique_ids}


def _check_present(folder: str, ids: list[str], token: CancelToken | None) -> GitResult | Problem:
    """Return the sizes of the objects that a partial clone has; before git 2.45, one that is missing fails all."""
    options = ("--objects", "--no-walk", "--ignore-missing", "--missing=allow-any", "--stdin")
    present = query_git(folder, "rev-list", *options, data=_lines(ids), token=token)
    if isinstance(present, Problem):
        return present
    return query_git(folder, "cat-file", "--batch-check", data=present.stdout.replace(b" ", b""), token=token)


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()


def _parse_objects(output: bytes, sizes_only: bool = False) -> Iterator[tuple[str, int, bytes]]:
    """Parse the blobs in the output of `git cat-file --batch` or `--batch-check` as (id, size, content)."""
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        id, _, rest = output[at:end].decode("ascii", "replace").partition(" ")
        kind, _, size = rest.partition(" ")
        at = end + 1
        if not size.isdigit():  # "missing"
            continue
        length = 0 if sizes_only else int(size)
        if kind == "blob" and at + length <= len(output):
            yield id, int(size), output[at : at + length]
        at += 0 if sizes_only else length + 1


def _diff(
    folder: str, arguments: tuple[str, ...], configuration: Mapping[str, str], token: CancelToken | None
) -> list[ChangedFile] | Problem:
    result = query_git(
        folder, "diff", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=dirty", "--relative",
        *arguments, "--", token=token, configuration=configuration,
    )  # fmt: skip
    if isinstance(result, Problem) or not result.complete:
        return result if isinstance(result, Problem) else _TOO_MANY
    changed: dict[str, ChangedFile] = {}
    for file in _parse_raw_diff(result.stdout):
        # git lists an unmerged file twice: as unmerged, and as different from our side.
        previous = changed.get(file.name)
        changed[file.name] = replace(file, conflict=True) if previous and previous.conflict else file
    return list(changed.values())


def _parse_raw_diff(output: bytes) -> Iterator[ChangedFile]:
    """Parse `:<mode> <mode> <id> <id> <status>`, followed by one name or two, each terminated by NUL."""
    fields = iter(output.split(b"\0"))
    for field in fields:
        if not field:
            return
        old_mode, new_mode, old_id, new_id, status = field[1:].decode("ascii", "replace").split(" ")
        old_name = os.fsdecode(next(fields, b""))
        name = os.fsdecode(next(fields, b"")) if status[0] in "RC" else old_name
        yield ChangedFile(name, old_name, _version(old_mode, old_id), _version(new_mode, new_id), status == "U")


def _version(mode: str, id: str) -> FileVersion | None:
    return FileVersion(mode, id if id.strip("0") else "") if mode != _ABSENT_MODE else None
