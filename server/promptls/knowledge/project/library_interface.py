"""Public interface of a library: the names that the index file of its outermost package exports."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable

from promptls.index import Snapshot
from promptls.knowledge.project.facts import EntryPoint, outermost
from promptls.knowledge.project.file_kind import is_peripheral
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import Import, Root

MAX_INTERFACES = 4
"""Maximum number of packages whose interface is listed."""
MAX_DOCUMENTED = 200
"""Maximum number of index files that are read for the documentation of their package."""
MIN_EXPORTS = 2
"""Minimum number of names in a public interface."""
MAX_DEPTH = 3
"""Maximum number of folders above an index file of an outermost package: "packages/core/src/index.ts"."""

_INDEX_FILE = re.compile(
    r"(?:.*/)?(?:__init__\.pyi?|index\.(?:[cm]?[jt]sx?|d\.ts)|lib\.rs|mod\.rs|doc\.go|package-info\.java)"
    r"|[^/]+(?<!_test)\.go|(?:.*/)?([\w-]{1,100})/\1\.go"
)
_INTERFACE_FILE = re.compile(r"(?:.*/)?(?:__init__\.py|index\.[cm]?[jt]sx?|lib\.rs)")
_DOCUMENTED_FILE = re.compile(r".*\.(?:pyi?|rs|go|java)")
"""Index files whose first comment documents the package."""
_SCRIPT_ENDS = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx")
"""Ends of JavaScript files, in which an import is an export too only if the file does nothing else."""
_OWN_MODULE = re.compile(r"\.|self::|crate::|super::")


def is_index_file(name: str) -> bool:
    """Return true for files that represent the package in their folder."""
    return _INDEX_FILE.fullmatch(name) is not None


def package_docs(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> dict[str, str]:
    """Return the documentation of packages by folder, from at most `MAX_DOCUMENTED` index files, outermost first."""
    base = root.path.rstrip("/")
    docs: dict[str, str] = {}
    for name in outermost(filter(_DOCUMENTED_FILE.fullmatch, index_files))[:MAX_DOCUMENTED]:
        outline = snapshot.outline(f"{base}/{name}")
        doc = outline.doc if outline is not None else ""
        if doc and (not name.endswith(".go") or doc.startswith("Package ")):
            docs.setdefault(posixpath.dirname(name), doc)
    return docs


def library_interfaces(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> tuple[EntryPoint, ...]:
    """Return the public interfaces of the outermost packages of a workspace folder.

    Args:
        snapshot: Snapshot of the index.
        root: The workspace folder.
        index_files: Names of the index files in the folder.
    """
    found: list[EntryPoint] = []
    folders: list[str] = []
    for name in outermost(filter(_INTERFACE_FILE.fullmatch, index_files)):
        folder = posixpath.dirname(name)
        is_inner = any(folder == other or other == "" or folder.startswith(f"{other}/") for other in folders)
        if is_inner or is_peripheral(name) or name.count("/") > MAX_DEPTH:
            continue
        exports = _exported_names(snapshot, f"{root.path.rstrip('/')}/{name}")
        if len(exports) >= MIN_EXPORTS:
            folders.append(folder)
            found.append(EntryPoint("public interface", name, exports=exports))
        if len(found) == MAX_INTERFACES:
            break
    return tuple(found)


def _exported_names(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    outline = snapshot.outline(path)
    if outline is None:
        return ()
    kinds = CALLABLE_KINDS | TYPE_KINDS | SPACE_KINDS
    defined = [s for s in outline.symbols if s.parent < 0 and s.kind in kinds and s.name]
    exports_imports = not path.endswith(_SCRIPT_ENDS) or not any(s.kind in CALLABLE_KINDS for s in defined)
    names = [name for imported in outline.imports if exports_imports for name in _imported_names(imported)]
    names += [s.name for s in defined if s.exported]
    return tuple(dict.fromkeys(name for name in names if name.isidentifier() and not name.startswith("_")))


def _imported_names(imported: Import) -> Iterable[str]:
    """Return the names that an import of the library's own modules brings into the index file."""
    if _OWN_MODULE.match(imported.module) is None:
        return ()
    return imported.local_names or imported.names or (re.split(r"[./:]", imported.module)[-1],)
