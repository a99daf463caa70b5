"""Access to the files of a workspace: file walks, ignore rules, and reading texts.

No other package reads workspace files.  In a git work tree, git decides which files are listed, and `.promptlsignore`
adds rules (`walk_files`, `ignored_paths`, `explain_path`).  Whether a listed file is indexed is decided when its text is
read (`read_text`).  A file without text stays listed, so that it can be mentioned by name, with the reason.
Blocking; any thread.  Does not depend on the index, on open documents or on LSP.
"""

from __future__ import annotations

from promptls.index.files.git_ignore import git_head
from promptls.index.files.gitignore import match_globs
from promptls.index.files.ignore import IgnoreDecision
from promptls.index.files.policy import FilePolicy
from promptls.index.files.read import (
    LEASED,
    PERMISSION_DENIED,
    FileContent,
    FileLimits,
    UnreadableFile,
    decode_text,
    file_stat,
    folder_exists,
    is_out_of_resources,
    is_readable,
    listing_problem,
    read_any_text,
    read_text,
    size_problem,
)
from promptls.index.files.secret_files import secret_kind, secret_reason
from promptls.index.files.stat_cache import FolderStats, is_stale, modified_files, record_stats
from promptls.index.files.uris import from_uri, is_inside, to_uri
from promptls.index.files.walk import FileInfo, explain_path, ignored_paths, walk_files

__all__ = [
    "LEASED",
    "PERMISSION_DENIED",
    "FileContent",
    "FileInfo",
    "FileLimits",
    "FilePolicy",
    "FolderStats",
    "IgnoreDecision",
    "UnreadableFile",
    "decode_text",
    "explain_path",
    "file_stat",
    "folder_exists",
    "from_uri",
    "git_head",
    "ignored_paths",
    "is_inside",
    "is_out_of_resources",
    "is_readable",
    "is_stale",
    "listing_problem",
    "match_globs",
    "modified_files",
    "read_any_text",
    "read_text",
    "record_stats",
    "secret_kind",
    "secret_reason",
    "size_problem",
    "to_uri",
    "walk_files",
]
