"""Index of a workspace: files, symbols, terms and vectors, kept up to date in the background.

This module names everything that packages above the index may use.  Names are imported on first access, so that
`import promptls.index` is cheap.
"""

# The imports for type checkers are exported by `__getattr__`.
# ruff: noqa: F401
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.index.client import CHANGES_TIMEOUT_S, IndexClient
    from promptls.index.config import IndexConfig, index_config, store_identity
    from promptls.index.derived import Change, Derived
    from promptls.index.edit_history import EditHistory
    from promptls.index.embedding.embedder import Embedder, ModelUnavailable, load_embedder
    from promptls.index.embedding.vocabulary import is_frequent_word
    from promptls.index.files.convention_files import (
        exclusion_reason,
        existing_names,
        find_files,
        read_convention_file,
        read_own_file,
    )
    from promptls.index.files.decode import decode_text
    from promptls.index.files.git_ignore import git_head
    from promptls.index.files.gitignore import IgnoreRules, match_globs, parse_rules
    from promptls.index.files.identity import document_label, document_path, located_path, workspace_path
    from promptls.index.files.notebooks.cells import OpenCell, from_cell, json_cells, to_cell
    from promptls.index.files.notebooks.json_text import Cell, decode_notebook, kernel_names
    from promptls.index.files.notebooks.notebook import (
        is_notebook,
        kernel_language,
        max_raw_size,
        notebook_text,
        render_cells,
    )
    from promptls.index.files.policy import FilePolicy
    from promptls.index.files.read import (
        FileContent,
        FileLimits,
        UnreadableFile,
        file_stat,
        folder_exists,
        is_out_of_resources,
        read_any_text,
        read_small_file,
        read_text,
        size_problem,
    )
    from promptls.index.files.secret_files import secret_kind, secret_reason
    from promptls.index.files.uris import from_uri, is_file_path, is_inside, to_uri
    from promptls.index.files.walk import explain_path, ignored_paths, walk_files
    from promptls.index.indexer import Indexer
    from promptls.index.scan.root_state import inspect_cache
    from promptls.index.scan.worker_check import check_reranker, check_worker
    from promptls.index.search.analyzer import STOP_WORDS, find_words, split_identifier, stem, tokenize, tokenize_word
    from promptls.index.search.interning import RunInterner, TermExtractor
    from promptls.index.search.reader import FileStats, IndexReader, Postings
    from promptls.index.search.store_identity import StoreIdentity
    from promptls.index.search.vectors import EXACT_MAX_ROWS, RowSelection, ScoredRows
    from promptls.index.snapshot import (
        VIRTUAL_SCHEME,
        OpenDocument,
        OutlineRef,
        Snapshot,
        SourceReader,
        is_virtual,
        split_lines,
    )
    from promptls.index.status import IndexState, IndexStatus
    from promptls.index.syntax.doc_types import RETURN_VALUE, UNCERTAIN
    from promptls.index.syntax.parse import parse_source
    from promptls.index.syntax.references import NUMBER_LITERAL, STRING_LITERAL, UNKNOWN_RECEIVER
    from promptls.index.workers.memory import limit_memory, tune_for_latency
    from promptls.index.workers.messages import read_frame, write_frame
    from promptls.index.workers.pool import WorkerError
    from promptls.index.workers.queries import PatternMatches
    from promptls.index.workers.spawn import kill_process, prestart_worker, spawn_process
    from promptls.index.workspace import Workspace

_EXPORTS = {
    "client": ("CHANGES_TIMEOUT_S", "IndexClient"),
    "config": ("IndexConfig", "index_config", "store_identity"),
    "derived": ("Change", "Derived"),
    "edit_history": ("EditHistory",),
    "embedding.embedder": ("Embedder", "ModelUnavailable", "load_embedder"),
    "embedding.vocabulary": ("is_frequent_word",),
    "files.convention_files": (
        "exclusion_reason",
        "existing_names",
        "find_files",
        "read_convention_file",
        "read_own_file",
    ),
    "files.decode": ("decode_text",),
    "files.git_ignore": ("git_head",),
    "files.gitignore": ("IgnoreRules", "match_globs", "parse_rules"),
    "files.notebooks.cells": ("OpenCell", "from_cell", "json_cells", "to_cell"),
    "files.notebooks.json_text": ("Cell", "decode_notebook", "kernel_names"),
    "files.notebooks.notebook": ("is_notebook", "kernel_language", "max_raw_size", "notebook_text", "render_cells"),
    "files.policy": ("FilePolicy",),
    "files.read": (
        "FileContent",
        "FileLimits",
        "UnreadableFile",
        "file_stat",
        "folder_exists",
        "is_out_of_resources",
        "read_any_text",
        "read_small_file",
        "read_text",
        "size_problem",
    ),
    "files.secret_files": ("secret_kind", "secret_reason"),
    "files.identity": ("document_label", "document_path", "located_path", "workspace_path"),
    "files.uris": ("from_uri", "is_file_path", "is_inside", "to_uri"),
    "files.walk": ("explain_path", "ignored_paths", "walk_files"),
    "indexer": ("Indexer",),
    "scan.root_state": ("inspect_cache",),
    "scan.worker_check": ("check_reranker", "check_worker"),
    "search.analyzer": ("STOP_WORDS", "find_words", "split_identifier", "stem", "tokenize", "tokenize_word"),
    "search.interning": ("RunInterner", "TermExtractor"),
    "search.reader": ("FileStats", "IndexReader", "Postings"),
    "search.store_identity": ("StoreIdentity",),
    "search.vectors": ("EXACT_MAX_ROWS", "RowSelection", "ScoredRows"),
    "snapshot": (
        "OpenDocument",
        "OutlineRef",
        "Snapshot",
        "SourceReader",
        "VIRTUAL_SCHEME",
        "is_virtual",
        "split_lines",
    ),
    "status": ("IndexState", "IndexStatus"),
    "syntax.doc_types": ("RETURN_VALUE", "UNCERTAIN"),
    "syntax.parse": ("parse_source",),
    "syntax.references": ("NUMBER_LITERAL", "STRING_LITERAL", "UNKNOWN_RECEIVER"),
    "workers.memory": ("limit_memory", "tune_for_latency"),
    "workers.messages": ("read_frame", "write_frame"),
    "workers.pool": ("WorkerError",),
    "workers.queries": ("PatternMatches",),
    "workers.spawn": ("kill_process", "prestart_worker", "spawn_process"),
    "workspace": ("Workspace",),
}
"""Exported names by module; equal to the imports above, which are for type checkers."""
_MODULES = {name: f"{__name__}.{module}" for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import an exported name on first access."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
