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
    from promptls.index.configuration import IndexConfig, index_config, store_identity
    from promptls.index.derived import Change, Derived
    from promptls.index.embedding.embedder import Embedder, ModelUnavailable, is_frequent_word, load_embedder
    from promptls.index.files.convention_files import (
        exclusion_reason,
        existing_names,
        find_files,
        read_convention_file,
        read_own_file,
    )
    from promptls.index.files.git_ignore import git_head
    from promptls.index.files.gitignore import IgnoreRules, match_globs, parse_rules
    from promptls.index.files.notebooks import (
        Cell,
        OpenCell,
        decode_notebook,
        from_cell,
        is_notebook,
        json_cells,
        kernel_language,
        kernel_names,
        max_raw_size,
        notebook_text,
        render_cells,
        to_cell,
    )
    from promptls.index.files.policy import FilePolicy
    from promptls.index.files.read import (
        FileContent,
        FileLimits,
        UnreadableFile,
        decode_text,
        file_stat,
        folder_exists,
        is_out_of_resources,
        read_any_text,
        read_small_file,
        read_text,
        size_problem,
    )
    from promptls.index.files.uris import (
        document_label,
        document_path,
        from_uri,
        is_file_path,
        is_inside,
        located_path,
        to_uri,
        workspace_path,
    )
    from promptls.index.files.walk import explain_path, ignored_paths, walk_files
    from promptls.index.index_client import CHANGES_TIMEOUT_S, IndexClient
    from promptls.index.index_status import IndexState, IndexStatus
    from promptls.index.indexer import Indexer
    from promptls.index.scan.jobs import check_worker
    from promptls.index.scan.root_state import inspect_cache
    from promptls.index.search.analyzer import STOP_WORDS, find_words, split_identifier, stem, tokenize, tokenize_word
    from promptls.index.search.interning import RunInterner, TermExtractor
    from promptls.index.search.reader import FileStats, IndexReader, Postings
    from promptls.index.search.row_batch import StoreIdentity
    from promptls.index.snapshot import OpenDocument, OutlineRef, Snapshot, SourceReader, is_virtual, split_lines
    from promptls.index.syntax.doc_types import RETURN_VALUE, UNCERTAIN
    from promptls.index.syntax.parse import parse_source
    from promptls.index.syntax.references import NUMBER_LITERAL, STRING_LITERAL, UNKNOWN_RECEIVER
    from promptls.index.workers.pool import WorkerError
    from promptls.index.workers.process_memory import limit_memory, release_closed_index, tune_for_latency
    from promptls.index.workers.query_jobs import PatternMatches
    from promptls.index.workers.spawn import kill_process, prestart_worker, spawn_process
    from promptls.index.workers.worker_messages import read_frame, write_frame
    from promptls.index.workspace import EditHistory, UnsavedDocument, Workspace

_EXPORTS = {
    "configuration": "IndexConfig index_config store_identity",
    "derived": "Change Derived",
    "embedding.embedder": "Embedder ModelUnavailable is_frequent_word load_embedder",
    "files.convention_files": "exclusion_reason existing_names find_files read_convention_file read_own_file",
    "files.git_ignore": "git_head",
    "files.gitignore": "IgnoreRules match_globs parse_rules",
    "files.notebooks": "Cell OpenCell decode_notebook from_cell is_notebook json_cells kernel_language kernel_names max_raw_size "
    "notebook_text render_cells to_cell",
    "files.policy": "FilePolicy",
    "files.read": "FileContent FileLimits UnreadableFile decode_text file_stat folder_exists is_out_of_resources read_any_text "
    "read_small_file read_text size_problem",
    "files.uris": "document_label document_path from_uri is_file_path is_inside located_path to_uri workspace_path",
    "files.walk": "explain_path ignored_paths walk_files",
    "index_client": "CHANGES_TIMEOUT_S IndexClient",
    "index_status": "IndexState IndexStatus",
    "indexer": "Indexer",
    "scan.jobs": "check_worker",
    "scan.root_state": "inspect_cache",
    "search.analyzer": "STOP_WORDS find_words split_identifier stem tokenize tokenize_word",
    "search.interning": "RunInterner TermExtractor",
    "search.reader": "FileStats IndexReader Postings",
    "search.row_batch": "StoreIdentity",
    "snapshot": "OpenDocument OutlineRef Snapshot SourceReader is_virtual split_lines",
    "syntax.doc_types": "RETURN_VALUE UNCERTAIN",
    "syntax.parse": "parse_source",
    "syntax.references": "NUMBER_LITERAL STRING_LITERAL UNKNOWN_RECEIVER",
    "workers.pool": "WorkerError",
    "workers.process_memory": "limit_memory release_closed_index tune_for_latency",
    "workers.query_jobs": "PatternMatches",
    "workers.spawn": "kill_process prestart_worker spawn_process",
    "workers.worker_messages": "read_frame write_frame",
    "workspace": "EditHistory UnsavedDocument Workspace",
}
"""Exported names by module; equal to the imports above, which are for type checkers."""
_MODULES = {name: f"{__name__}.{module}" for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import an exported name on first access."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
