"""Completion of paths: mention kinds and roots by name, folder contents, matching files and folders.

Items are sorted by match tier, then recent documents come first, code before prose, then shorter paths.  No file is
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from promptls.index import Snapshot
from promptls.knowledge.project.file_kind import is_prose_path
from promptls.mentions.completion.completion_items import CompletionItem, CompletionQuery, estimate_tokens
from promptls.mentions.completion.fuzzy import JUMP, FuzzyIndex, MatchTier, Quality
from promptls.mentions.completion.index import fold_case
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.syntax.grammar import format_mention
from promptls.model import Root
from promptls.util.text.display import plural

MAX_LISTED_SYMBOLS = 20
"""Top-level symbols in the documentation of a file item; keeps the popup below one screen."""

BYTES_PER_TOKEN = 4
"""For the estimated token count of a folder."""


def complete_path(
    query: CompletionQuery, path: str, roots: Sequence[Root] | None, others: Iterable[CompletionItem] = ()
) -> Iterator[CompletionItem]:
    """Yield completions of a path.

    Args:
        query: The query.
        path: Path as typed, without the root.
        roots: Roots named before a colon, None for all.
        others: Items between the paths that contain the typed text and those that contain only its letters.
    """
    if roots is None:
        yield from _kinds_and_roots(query, path)
    keys, scattered = _ranked_keys(query, path, roots) if path else (list(_top_level_keys(query, roots)), [])
    seen: set[str] = set()
    for items in (_items(query, keys, seen), others, _items(query, scattered, seen)):
        yield from items


def _items(query: CompletionQuery, keys: Iterable[str], seen: set[str]) -> Iterator[CompletionItem]:
    for key in keys:
        if key not in seen and (item := _item(query, key)) is not None:
            seen.add(key)
            yield item


def _kinds_and_roots(query: CompletionQuery, prefix: str) -> Iterator[CompletionItem]:
    """Yield the kinds and roots with this prefix; without a prefix, recent documents come first."""
    prefix = fold_case(prefix)
    if not prefix:
        yield from filter(None, (_item(query, path) for path in query.recent_documents))
    for kind in query.kinds.kinds.values():
        if kind.keyword and kind.name.startswith(prefix):
            text = f"@{kind.name}:" if kind.argument == "required" else f"@{kind.name}"
            yield CompletionItem(text[1:], text, kind.help, ", ".join(kind.syntax), "kind")
    if len(query.snapshot.roots) > 1:
        for root in query.snapshot.roots:
            text = format_mention(root=root.name) or ""
            if text and fold_case(root.name).startswith(prefix):
                yield CompletionItem(f"{root.name}:", text, root.path, kind="root")


def _top_level_keys(query: CompletionQuery, roots: Sequence[Root] | None) -> Iterator[str]:
    """Yield the contents of the roots, folders first."""
    index = query.context.path_index
    for root in query.snapshot.roots if roots is None else roots:
        children = [
            child for child in index.children(root.path) if roots is not None or child not in query.recent_documents
        ]
        yield from sorted(children, key=lambda child: not child.endswith("/"))


def _ranked_keys(query: CompletionQuery, path: str, roots: Sequence[Root] | None) -> tuple[list[str], list[str]]:
    """Return the paths that contain the typed text, and those that contain only its letters, best first."""
    index, snapshot = query.context.path_index, query.snapshot
    children = _matching_children(query, path, roots) if "/" in path else []
    path = path.lstrip("/")
    if not path or (children and path.endswith("/")):
        return children, []
    with_root = len(snapshot.roots) > 1
    qualities: dict[str, Quality] = {}
    recent = FuzzyIndex(((_search_text(snapshot, p, with_root), p) for p in query.recent_documents), paths=True)
    for match in recent.search(path, len(recent)):
        qualities[recent.keys[match.row]] = match.quality
    limit = (query.limit + 1) * (2 * len(snapshot.roots) if roots else 1)
    for quality, key in index.search(path, limit):
        qualities.setdefault(key, quality)

    def rank(key: str) -> tuple[MatchTier, int, int, bool, int, int, str]:
        tier, penalty = qualities[key]
        text = _search_text(snapshot, key, with_root)
        return tier, penalty // JUMP, query.recency(key), is_prose_path(text), penalty, len(text), key

    ranked = sorted(qualities, key=rank)
    if roots is not None:
        prefixes = tuple(root.path + "/" for root in roots)
        ranked = [key for key in ranked if key.startswith(prefixes)]
    scattered = [key for key in ranked if qualities[key][0] == MatchTier.SUBSEQUENCE]
    return children + ranked[: len(ranked) - len(scattered)], scattered


def _matching_children(
    query: CompletionQuery,
    path: str,
    roots: Sequence[Root] | None,
) -> list[str]:
    """Return the folder entries whose name contains the text after the last slash, prefix matches first."""
    index = query.context.path_index
    folder, rest = path.rsplit("/", 1)
    rest = fold_case(rest)
    children = [child for parent in _matching_folders(query, folder, roots) for child in index.children(parent)]
    names = [(fold_case(child.rstrip("/").rsplit("/", 1)[-1]), child) for child in children]
    ranked = [((not name.startswith(rest), not child.endswith("/")), child) for name, child in names if rest in name]
    return [child for _, child in sorted(ranked)]


def _matching_folders(query: CompletionQuery, folder: str, roots: Sequence[Root] | None) -> list[str]:
    """Return the folders at this path below a root, else all folders whose path ends with it."""
    tops = query.snapshot.roots if roots is None else roots
    index, folder = query.context.path_index, folder.strip("/")
    if not folder:
        return [root.path for root in tops]
    exact = [f"{root.path}/{folder}" for root in tops if index.is_folder(f"{root.path}/{folder}")]
    if exact:
        return exact
    suffix = "/" + fold_case(folder)
    return [f for f in index.folders_named(folder.rsplit("/", 1)[-1]) if fold_case(f).endswith(suffix)]


def _search_text(snapshot: Snapshot, key: str, with_root: bool) -> str:
    """Return a path as the path index contains it: relative to its root, with the root name if there are several."""
    root = snapshot.root_of(key.rstrip("/"))
    if root is None:
        return key
    name = key[len(root.path) + 1 :]
    return f"{root.name}/{name}" if with_root else name


def _item(query: CompletionQuery, key: str) -> CompletionItem | None:
    """Return the item for a file or (with a trailing slash) a folder, or None if no mention can represent it."""
    path, is_folder = key.rstrip("/"), key.endswith("/")
    if path == query.context.document:  # the prompt document itself
        return None
    text = mention_for(query.snapshot, path, folder=is_folder, keywords=query.keywords)
    if text is None:
        return None
    label = query.snapshot.label(path)
    if is_folder:
        index = query.context.path_index
        tokens = index.total_bytes(path) // BYTES_PER_TOKEN if query.count_tokens is not None else None
        detail = f"folder, {plural(index.file_count(path), 'file')}"
        return CompletionItem(label + "/", text, detail, kind="folder", tokens=tokens)
    entry = query.snapshot.files.get(path)
    if entry is None:
        return None
    if entry.outline is None:
        return CompletionItem(label, text, entry.skip_reason)
    outline = entry.outline
    names = islice((s.name for s in outline.symbols if s.parent < 0 and s.name), MAX_LISTED_SYMBOLS)
    detail = f"{outline.language}, {plural(outline.lines, 'line')}"
    tokens = estimate_tokens(query, path, outline.lines)
    return CompletionItem(label, text, detail, ", ".join(names), "file", tokens)
