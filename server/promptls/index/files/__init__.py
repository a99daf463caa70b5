"""The file system: walk, ignore rules, reading.  The only package that touches files of the workspace.

Which files a folder has is git's answer where git has one (`walk`, `ignored`, `explain`), plus
`.promptlsignore`; whether a file's text is looked at is decided when it is read (`read_text`).  A file that
is not read stays listed, so that it can be mentioned by name and can say why.
Any thread; blocking.  Knows nothing of the index, of open buffers or of LSP.
"""

from __future__ import annotations

from promptls.index.files.git_ignore import git_head
from promptls.index.files.gitignore import matching
from promptls.index.files.ignore import Verdict
from promptls.index.files.policy import Policy
from promptls.index.files.read import (
    DENIED,
    HELD,
    Limits,
    ReadText,
    Skipped,
    decoded,
    exhausted,
    is_folder,
    read_any,
    read_text,
    readable,
    stat,
    too_big,
    unlisted,
)
from promptls.index.files.secret_files import kind_of_secrets, secret
from promptls.index.files.stat_cache import Seen, moved, remember, written
from promptls.index.files.uris import from_uri, inside, to_uri
from promptls.index.files.walk import Found, explain, ignored, walk

__all__ = [
    "DENIED",
    "HELD",
    "Found",
    "Limits",
    "Policy",
    "ReadText",
    "Seen",
    "Skipped",
    "Verdict",
    "decoded",
    "exhausted",
    "explain",
    "from_uri",
    "git_head",
    "ignored",
    "inside",
    "is_folder",
    "kind_of_secrets",
    "matching",
    "moved",
    "read_any",
    "read_text",
    "readable",
    "remember",
    "secret",
    "stat",
    "to_uri",
    "too_big",
    "unlisted",
    "walk",
    "written",
]
