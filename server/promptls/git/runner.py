"""Running git over history: bounded in time and output, and with nothing that a repository could have it start.

On top of what `index.disk.git` does for every call: no signature is checked (that runs a program of the
configuration's choice), no filter cleans a file, no mailmap and no order of files comes from elsewhere, every
transport is off even where the configuration allows one by name.  Paths and names come back as bytes.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from promptls.index.files.git_ignore import ASKED_S, SAFE, end, environment, hangs, hung, program
from promptls.model import CancelToken, Problem

MOST_BYTES = 64_000_000
MOST_SAID = 4_000  # bytes of an error that are looked at
_MORE = (
    *("-c", "log.showSignature=false"),
    *("-c", "mailmap.file="),  # the repository's could name a device
    *("-c", "mailmap.blob="),
    *("-c", "diff.external="),
    *("-c", f"diff.orderFile={os.devnull}"),  # the repository's could be a pipe
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.pager=cat"),
)


_HANGS = Problem("git does not answer, so nothing is known of the history just now.", "See what keeps git.")


class Answer(Struct, frozen=True):
    """What git printed."""

    out: bytes
    whole: bool = True  # False: it was stopped, by time or by size


def ask(
    folder: str,
    *arguments: str,
    seconds: float = 30.0,
    most: int = MOST_BYTES,
    token: CancelToken | None = None,
    fine: tuple[int, ...] = (0,),
    configuration: Mapping[str, str] | None = None,
    data: bytes | None = None,
) -> Answer | Problem:
    """What git prints in `folder`, or why there is nothing.

    After `seconds` or `most` bytes git is stopped and what it has said so far is the answer; if that is nothing, it
    hangs and is left alone for a while.  `configuration`: settings for this question.  `data`: what git reads.
    """
    git = program(os.environ.get("PATH", ""))
    if not git:
        return Problem("git is not installed, so nothing is known of the history.", "Install git, then reindex.")
    if hangs(git):
        return _HANGS
    settings = configuration or {}
    if any("=" in name for name in settings):  # the variables that could say so, git knows only since 2.31
        return Problem(f"The configuration of {_shown(folder)} has a setting with a = in its name; rename it.")
    try:
        process = subprocess.Popen(
            [git, *SAFE, *_MORE, *(part for item in settings.items() for part in ("-c", "=".join(item))), *arguments],
            cwd=folder,
            env={**environment(), "GIT_ALLOW_PROTOCOL": "none"},
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,  # ours speaks LSP
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # for `end`
        )
    except (OSError, ValueError):  # the folder is gone, a NUL character
        return Problem(f"git cannot be run in {_shown(folder)}.")
    answer = _heard(process, folder, data, seconds, most, token, fine)
    silent = isinstance(answer, Answer) and not answer.whole and not answer.out
    if silent and seconds >= ASKED_S and not (token and token.cancelled):
        hung(git)
        return _HANGS
    return answer


def without_filters(folder: str, token: CancelToken | None = None) -> dict[str, str] | Problem:
    """Settings under which git starts no filter that the repository names; the user's own, such as those of LFS, stay.

    Whoever compares files with the index needs them: git cleans a file before it compares it, by a program that the
    repository's configuration chooses.
    """
    known = ask(folder, "config", "--null", "--show-scope", "--get-regexp", r"^filter\.", fine=(0, 1), token=token)
    if isinstance(known, Problem):
        return known
    if not known.whole:
        return Problem(f"The configuration of {_shown(folder)} is too large.")
    own: dict[str, str] = {}
    theirs: set[str] = set()
    fields = os.fsdecode(known.out).split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in ("system", "global"):
            own[key] = value
        else:
            theirs.add(key)
    names = {key.rpartition(".")[0] for key in theirs}
    keys = [f"{name}.{what}" for name in names for what in ("clean", "smudge", "process", "required")]
    return {key: own.get(key, "false" if key.endswith(".required") else "") for key in keys}


def _heard(
    process: subprocess.Popen[bytes],
    folder: str,
    data: bytes | None,
    seconds: float,
    most: int,
    token: CancelToken | None,
    fine: tuple[int, ...],
) -> Answer | Problem:
    out, said = bytearray(), bytearray()
    over, done = threading.Event(), threading.Event()
    deadline = time.monotonic() + seconds
    watch = threading.Thread(target=_watch, args=(process, deadline, token, over, done), daemon=True)
    others = [threading.Thread(target=_listen, args=(process, said), daemon=True)]
    if data is not None:
        others.append(threading.Thread(target=_tell, args=(process, data), daemon=True))
    with process:
        for thread in (watch, *others):
            thread.start()
        assert process.stdout is not None
        while part := process.stdout.read(1 << 16):
            out += part
            if len(out) > most:
                over.set()
                end(process)
                break
        process.wait()
        for thread in others:  # watched still: what git has started may hold the other ends
            thread.join()
        done.set()
        watch.join()
    if over.is_set():
        return Answer(bytes(out[:most]), whole=False)
    return Answer(bytes(out)) if process.returncode in fine else refusal(bytes(said), folder)


def _watch(
    process: subprocess.Popen[bytes],
    deadline: float,
    token: CancelToken | None,
    over: threading.Event,
    done: threading.Event,
) -> None:
    while not done.wait(0.05):
        if time.monotonic() > deadline or (token is not None and token.cancelled):
            over.set()
            end(process)
            return


def _listen(process: subprocess.Popen[bytes], said: bytearray) -> None:
    assert process.stderr is not None
    while part := process.stderr.read(1 << 12):
        said += part[: MOST_SAID - len(said)]


def _tell(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    with suppress(OSError), process.stdin:  # it need not listen to the end
        process.stdin.write(data)


def refusal(said: bytes, folder: str) -> Problem:
    """What a failure of git means for the user."""
    if b"dubious ownership" in said or b"unsafe repository" in said:
        return Problem(
            f"git refuses to read {_shown(folder)}: the repository belongs to somebody else.",
            f"If you trust it: git config --global --add safe.directory {_shown(folder)}",
        )
    if b"not a git repository" in said or b"safe.bareRepository" in said:
        return Problem(f"{_shown(folder)} is not in a git repository, so it has no history.")
    if b"does not have any commits" in said or b"unknown revision" in said or b"bad revision" in said:
        return Problem(f"The repository of {_shown(folder)} has no commits yet.")
    return Problem(
        f"git could not read the history of {_shown(folder)}; the repository may be damaged or incomplete.",
        "Run git fsck there.",
    )


def _shown(folder: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in folder)
