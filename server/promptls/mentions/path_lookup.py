"""Path lookup and suggestions: matches a path as written in a mention to files and folders of the workspace.

Match levels are an exact path below a root, a path suffix, and both again ignoring letter case and Unicode normal
form.  Only matches of the best level count.  Paths without a match are searched on disk.
`access_denied_reason` decides whether a path may be shown.

Suggestions for an unresolved path or symbol are names that contain the written name (or its letters in order), then
names within a few typing errors.  Similarity is RapidFuzz's ratio of the last path segments and of the folders as far as
they were written.  A file that was renamed is found by the renames in the git history.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from urllib.parse import unquote

from msgspec import Struct
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from promptls.index import (
    OutlineRef,
    Snapshot,
    explain_path,
    ignored_paths,
    is_file_path,
    is_inside,
    located_path,
    workspace_path,
)
from promptls.knowledge.project.file_kind import is_prose_path, is_test_path
from promptls.mentions.completion.fuzzy import MIN_SUBSEQUENCE_LENGTH, MatchTier
from promptls.mentions.completion.index import fold_case
from promptls.mentions.context import ResolveContext
from promptls.mentions.syntax.grammar import CORE_KEYWORDS, Keywords, format_mention
from promptls.model import Root, Span, Symbol
from promptls.redaction.secret_files import secret_reason

PathsByName = Callable[[str], list[str]]
"""Maps the last segment of a path to the paths that may end in it."""

_DRIVE = re.compile(r"[A-Za-z]:(?:/|$)")


class MatchLevel(IntEnum):
    """Match quality of a path, best first."""

    EXACT = 0
    SUFFIX = 1
    CASE_INSENSITIVE = 2
    CASE_INSENSITIVE_SUFFIX = 3
    NONE = 9

    @property
    def differs_in_case(self) -> bool:
        """True if the path was matched ignoring letter case."""
        return self in (MatchLevel.CASE_INSENSITIVE, MatchLevel.CASE_INSENSITIVE_SUFFIX)


class PathMatches(Struct, frozen=True):
    """Matching paths of the best level."""

    paths: tuple[str, ...] = ()
    level: MatchLevel = MatchLevel.NONE
    outside: bool = False  # whether the path as written leads out of every root


def find_roots(snapshot: Snapshot, name: str) -> tuple[Root, ...]:
    """Return the roots with this name, ignoring case if none matches exactly; all roots without a name."""
    if not name:
        return snapshot.roots
    exact = tuple(root for root in snapshot.roots if root.name == name)
    return exact or tuple(root for root in snapshot.roots if fold_case(root.name) == fold_case(name))


def find_files(context: ResolveContext, target: str, roots: tuple[Root, ...]) -> PathMatches:
    """Return the indexed files and open documents that match a path."""
    return _best_matches(context.snapshot, target, roots, lambda name: _files_named(context.snapshot, name))


def find_folders(context: ResolveContext, target: str, roots: tuple[Root, ...]) -> PathMatches:
    """Return the folders of indexed files that match a path; a root matches by its absolute path."""
    index = context.path_index
    root_paths = [root.path for root in roots]
    return _best_matches(context.snapshot, target, roots, lambda name: [*index.folders_named(name), *root_paths])


def split_root(snapshot: Snapshot, argument: str) -> tuple[str, str]:
    """Split "root:path" into root and path; the root is "" if no root has this name."""
    root, colon, path = argument.partition(":")
    if not root or not colon or path.startswith(":") or _DRIVE.match(argument) or not find_roots(snapshot, root):
        return "", argument
    return root, path


def resolve_folders(context: ResolveContext, argument: str) -> tuple[str, ...]:
    """Return the folders that match "path/", "root:path/" or "root:"."""
    name, path = split_root(context.snapshot, argument)
    roots = find_roots(context.snapshot, name)
    if name and not path:
        return tuple(root.path for root in roots)
    return find_folders(context, path.rstrip("/"), roots).paths


def resolve_files(context: ResolveContext, argument: str) -> tuple[str, ...]:
    """Return the files that match "path" or "root:path"."""
    name, path = split_root(context.snapshot, argument)
    return find_files(context, path, find_roots(context.snapshot, name)).paths


def files_below(snapshot: Snapshot, folders: Iterable[str]) -> list[str]:
    """Return the indexed files below these folders."""
    prefixes = tuple(folder.rstrip("/") + "/" for folder in folders)
    return [path for path in snapshot.files if path.startswith(prefixes)]


def files_in_scope(context: ResolveContext, argument: str) -> frozenset[str]:
    """Return the files of the folder or root that an argument names, or the file itself."""
    folders = resolve_folders(context, argument)
    return frozenset(files_below(context.snapshot, folders) or resolve_files(context, argument))


def find_on_disk(context: ResolveContext, target: str, roots: tuple[Root, ...]) -> str | None:
    """Return the absolute path of an existing file or folder that is not indexed, or None."""
    for variant in path_variants(target, roots):
        for path in _absolute_paths(variant, roots):
            if _exists(path):
                return path
    return None


def access_denied_reason(context: ResolveContext, path: str) -> str:
    """Return why a file or folder must not be shown, or "" if it may be."""
    snapshot = context.snapshot
    label = snapshot.label(path)
    root = snapshot.root_of(path)
    secret = secret_reason(path if is_file_path(path) else located_path(path), [root.path] if root is not None else ())
    if secret and not context.sources.allow_secrets:
        return f"{label} is not shown: {secret}. Set secrets.allowFiles to allow it."
    if not is_file_path(path):
        return _document_denied_reason(context, path)
    if root is None:
        return "" if path in snapshot.documents else f"{path} is outside of the workspace."
    entry = snapshot.files.get(path)
    if entry is not None and entry.mtime_ns:
        return ""  # listed by the walk, which applies all rules
    if path not in snapshot.documents and not is_inside(root.path, path):
        return f"{label} is a link that leads out of the workspace."
    if path not in ignored_paths(root.path, [path], context.sources.limits):
        return ""
    verdict = explain_path(root.path, path, context.sources.limits)
    if not verdict.rule:
        return f"{label} is not shown: {verdict.reason}."
    origin = "built-in" if verdict.file == "built-in" else f"{_rule_file(snapshot, verdict.file)}, line {verdict.line}"
    return f'{label} is ignored by the rule "{verdict.rule}" ({origin}).'


def _document_denied_reason(context: ResolveContext, uri: str) -> str:
    """Return why a document that is not a file must not be shown: the reason of the file in its URI, if any."""
    if uri not in context.snapshot.documents:
        return f"{context.snapshot.label(uri)} is neither a file nor open in the editor."
    path = located_path(uri)
    if is_file_path(path):
        path = workspace_path(path, [root.path for root in context.snapshot.roots])
        return access_denied_reason(context, path) if context.snapshot.root_of(path) is not None else ""
    return ""


def mention_for(
    snapshot: Snapshot,
    path: str,
    *,
    folder: bool = False,
    lines: Span | None = None,
    symbol: str = "",
    keywords: Keywords = CORE_KEYWORDS,
) -> str | None:
    """Return the mention that resolves to exactly this path of the workspace, or None if there is none."""
    root = snapshot.root_of(path)
    name = path if root is None else path[len(root.path) + 1 :]
    if root is None or len(snapshot.roots) == 1:
        if not name:
            return "@workspace"
        return format_mention(name, folder=folder, lines=lines, symbol=symbol, keywords=keywords)
    return format_mention(name, root.name, folder=folder, lines=lines, symbol=symbol, keywords=keywords)


def sort_by_proximity(context: ResolveContext, paths: Iterable[str]) -> list[str]:
    """Sort paths by proximity to the active document, without duplicates.

    Open documents come first, then paths that share most folders with the active one; tests come last among equals.
    """
    active_folders = context.client.active_document.split("/")[:-1]
    open_documents = {
        path: i for i, path in enumerate((context.client.active_document, *context.client.open_documents))
    }

    def key(path: str) -> tuple[int, int, bool, int, str]:
        shared = 0
        for own, other in zip(active_folders, path.split("/"), strict=False):
            if own != other:
                break
            shared += 1
        is_test = is_test_path(context.snapshot.label(path))
        return open_documents.get(path, len(open_documents)), -shared, is_test, path.count("/"), path

    return sorted(dict.fromkeys(paths), key=key)


def path_variants(target: str, roots: Iterable[Root] = ()) -> Iterator[str]:
    """Yield the readings of a path: as written, with backslashes as slashes, percent-decoded, and below its root.

    The last one differs for an absolute path that leads to a root through a link.
    """
    seen: set[str] = set()
    slashed = target.replace("\\", "/")
    for variant in (target, slashed, unquote(target), unquote(slashed)):
        variant = _normalize(variant)
        if variant and variant not in seen:
            seen.add(variant)
            yield variant
    for variant in [variant for variant in seen if is_file_path(variant)]:
        path = workspace_path(variant, [root.path for root in roots])
        if path not in seen:
            yield path


def _normalize(path: str) -> str:
    """Remove "." and empty segments, and resolve ".." where possible."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _best_matches(snapshot: Snapshot, target: str, roots: tuple[Root, ...], by_name: PathsByName) -> PathMatches:
    outside = False
    for variant in path_variants(target, snapshot.roots):
        best, best_level = [], MatchLevel.NONE
        for path in dict.fromkeys(by_name(variant.rsplit("/", 1)[-1])):
            root = snapshot.root_of(path)
            if root not in roots and (root is not None or len(roots) != len(snapshot.roots)):
                continue
            level = _match_level(variant, path, root)
            if level < best_level:
                best, best_level = [path], level
            elif level == best_level != MatchLevel.NONE:
                best.append(path)
        if best:
            return PathMatches(tuple(best), best_level)
        outside = outside or variant.startswith("../") or variant == ".." or bool(_DRIVE.match(variant))
    return PathMatches(outside=outside)


def _match_level(written: str, path: str, root: Root | None) -> MatchLevel:
    name = path[len(root.path) + 1 :] if root is not None else path
    if written == path or written.lstrip("/") == name:
        return MatchLevel.EXACT
    suffix = written if written.startswith("/") else "/" + written
    if path.endswith(suffix):
        return MatchLevel.SUFFIX
    if fold_case(written) == fold_case(path) or fold_case(written.lstrip("/")) == fold_case(name):
        return MatchLevel.CASE_INSENSITIVE
    return MatchLevel.CASE_INSENSITIVE_SUFFIX if fold_case(path).endswith(fold_case(suffix)) else MatchLevel.NONE


def _files_named(snapshot: Snapshot, name: str) -> list[str]:
    """Return indexed files and open documents with this name, ignoring letter case and Unicode normal form.

    A document that is not a file is found by its URI only: an old version of a file has the same name as the file.
    """
    key = fold_case(name)
    paths = [path for form in _normal_forms(name) for path in snapshot.basenames.get(form, ())]
    for path in snapshot.documents:
        if path == name if not is_file_path(path) else fold_case(path.rsplit("/", 1)[-1]) == key:
            paths.append(path)
    return paths


def _normal_forms(name: str) -> set[str]:
    if name.isascii():
        return {name.lower()}
    return {name.lower(), *(unicodedata.normalize(form, name).lower() for form in ("NFC", "NFD"))}


def _absolute_paths(written: str, roots: tuple[Root, ...]) -> Iterator[str]:
    relative = written.lstrip("/")
    if written != relative or _DRIVE.match(written):
        for root in roots:
            if written == root.path or written.startswith(root.path + "/"):
                yield written
    if not written.startswith("../") and written != "..":
        yield from (f"{root.path}/{relative}" for root in roots)


def _exists(path: str) -> bool:
    """Return whether anything has this path, including links, pipes and files that cannot be accessed."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def _rule_file(snapshot: Snapshot, file: str) -> str:
    return snapshot.label(file) if snapshot.root_of(file) is not None else file.rsplit("/", 1)[-1]


# ---------------------------------------------------------------- suggestions


MIN_PATH_RATIO = 72
"""Minimum ratio (0 to 100) of name and folders for a suggestion."""

MIN_CONFIDENT_RATIO = 90
"""The same for text that may not be a path at all."""

MAX_CANDIDATES = 50
"""Candidates that are compared in full."""

SAME_STEM_RATIO = 95.0
"""Ratio of names that differ only in a missing extension."""


def suggest_path(
    context: ResolveContext,
    target: str,
    roots: tuple[Root, ...],
    confident: bool = False,
    lines: Span | None = None,
) -> str:
    """Return a mention of the most similar path, or of its deepest existing folder; "" for none.

    Args:
        context: The context of the message.
        target: Path as written.
        roots: Roots that it may be in.
        confident: Require near equality, for text that may not be a path.
        lines: Lines that are mentioned; the suggestion keeps them.
    """
    snapshot = context.snapshot
    written = next(iter(path_variants(target.replace("\\", "/"))), "")
    if not written:
        return ""
    renamed = renamed_path(context, written, roots)
    if renamed:
        return mention_for(snapshot, renamed, lines=lines) or ""
    index = context.path_index
    name = fold_case(written.rsplit("/", 1)[-1])
    # Shortest first: names that differ by one letter are among the few that contain the written name.
    candidates = [key for _, key in index.search(name, MAX_CANDIDATES, MatchTier.SUBSTRING)]
    candidates += index.within_edits(name)[:MAX_CANDIDATES]
    scored: list[tuple[float, str]] = []
    for key in dict.fromkeys(candidates):
        if snapshot.root_of(key.rstrip("/")) not in roots:
            continue
        label = fold_case(snapshot.label(key.rstrip("/")))
        folders, _, last = label.rpartition("/")
        score = _name_ratio(name, last)
        if "/" in written:
            written_folders = fold_case(written).rpartition("/")[0]
            # Folders that were not written are ignored.
            ratio = fuzz.partial_ratio if len(folders) > len(written_folders) else fuzz.ratio
            score = (score + ratio(written_folders, folders)) / 2
        scored.append((score, key))
    best = max((score for score, _ in scored), default=0.0)
    if best >= (MIN_CONFIDENT_RATIO if confident else MIN_PATH_RATIO):
        first = sort_by_proximity(context, [key for score, key in scored if score == best])[0]
        if first.endswith("/"):
            return mention_for(snapshot, first.rstrip("/"), folder=True) or ""
        return mention_for(snapshot, first, lines=lines) or ""
    return _deepest_folder(context, written, roots)


def renamed_path(context: ResolveContext, name: str, roots: tuple[Root, ...]) -> str:
    """Return the current absolute path of a file that the git history renames from a name below a root, or ""."""
    for root in roots:
        (history,) = context.services.git_history.histories([root.path])
        renamed = f"{root.path}/{history.former_names.get(name, '')}"
        if renamed in context.snapshot.files:
            return renamed
    return ""


def suggest_by_stem(context: ResolveContext, word: str) -> str:
    """Return a mention of the file whose name without extension is the word ("utils" → utils.py); "" for none."""
    paths = [
        key
        for (tier, _), key in context.path_index.search(word, MAX_CANDIDATES, MatchTier.STEM)
        if tier == MatchTier.STEM and key.rsplit("/", 1)[-1].startswith(word + ".")
    ]
    return (mention_for(context.snapshot, sort_by_proximity(context, paths)[0]) or "") if paths else ""


def suggest_exact_symbol(context: ResolveContext, target: str) -> str:
    """Return a mention of the definition in code that a word names exactly ("Cart", "Cart.add"); "" for none.

    A qualified name may begin with the name of the file or folder of the definition ("cart.add").
    """
    *holders, name = target.split(".")
    for path, index in context.snapshot.names.get(name.lower(), ())[:MAX_CANDIDATES]:
        symbol = context.snapshot.symbol((path, index))
        label = context.snapshot.label(path)
        if symbol is None or symbol.name != name or is_prose_path(label):
            continue
        modules = label.replace(":", "/").rpartition(".")[0].split("/")
        names = [*modules, *symbol.qualified.split(".")[:-1]]
        if not holders or names[-len(holders) :] == holders or modules[-1 - len(holders) : -1] == holders:
            return format_mention(symbol=target) or ""
    return ""


def suggest_symbol(
    context: ResolveContext, target: str, parts: Sequence[str], paths: Sequence[str] | None = None
) -> str:
    """Return a mention of the definition with the most similar qualified name; "" for none.

    Args:
        context: The context of the message.
        target: Qualified name as written.
        parts: Its parts: the names of classes or modules, then the own name.
        paths: Files that the definition must be in, None for all.
    """
    snapshot, index = context.snapshot, context.symbol_index
    *holders, name = parts or [target]
    names = [n for n in index.within_edits(name) if snapshot.names.get(n.lower())][:MAX_CANDIDATES]
    if not names and len(name) >= MIN_SUBSEQUENCE_LENGTH:
        names = [key for _, key in index.search(name, 5, MatchTier.WORD)]
    best: tuple[tuple[int, int, bool, bool, OutlineRef], Symbol] | None = None
    allowed = frozenset(paths or ())
    refs: list[OutlineRef] = []
    for similar in names:
        found = (ref for ref in snapshot.names.get(similar.lower(), ()) if paths is None or ref[0] in allowed)
        refs += islice(found, MAX_CANDIDATES)
    for ref in refs:
        symbol, label = snapshot.symbol(ref), snapshot.label(ref[0])
        if symbol is None:
            continue
        modules = label.replace(":", "/").rpartition(".")[0].split("/")
        actual = fold_case(".".join([*modules, *symbol.qualified.split(".")][-len(holders) - 1 :]))
        distance = OSA.distance(fold_case(".".join([*holders, name])), actual)
        rank = (distance, OSA.distance(name, symbol.name), is_prose_path(label), is_test_path(label), ref)
        if best is None or rank < best[0]:
            best = rank, symbol
    if best is None:
        return ""
    symbol = best[1]
    if paths is not None:
        return mention_for(snapshot, best[0][-1][0], symbol=symbol.qualified) or ""
    same_holders = best[0][0] <= OSA.distance(fold_case(name), fold_case(symbol.name))
    kept = f"{target.removesuffix(name)}{symbol.name}" if same_holders else symbol.qualified
    return format_mention(symbol=kept) or ""


def _name_ratio(name: str, other: str) -> float:
    """Return the ratio of two last segments, ignoring a common extension and mostly a missing one."""
    stem, dot, extension = other.rpartition(".")
    if stem == name:
        return SAME_STEM_RATIO
    common = dot + extension if dot and name.endswith(dot + extension) else ""
    return fuzz.ratio(name.removesuffix(common), other.removesuffix(common))


def _deepest_folder(context: ResolveContext, written: str, roots: tuple[Root, ...]) -> str:
    index = context.path_index
    folder = written.lstrip("/")
    while "/" in folder:
        folder = folder.rsplit("/", 1)[0]
        for root in roots:
            if index.is_folder(f"{root.path}/{folder}"):
                return mention_for(context.snapshot, f"{root.path}/{folder}", folder=True) or ""
    return ""
