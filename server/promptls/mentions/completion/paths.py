"""Completion of paths: kinds and roots by name, the children of a folder, files and folders that match.

Order: how well the name matches, then open documents, then shorter paths.  Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from promptls.index.snapshot import Snapshot
from promptls.mentions.completion.fuzzy import Haystack, Tier
from promptls.mentions.completion.index import fold, paths_of
from promptls.mentions.completion.items import Ask, CompletionItem, cost
from promptls.mentions.format import spell
from promptls.mentions.path_lookup import name_for
from promptls.model import Root


def path_offers(ask: Ask, query: str, roots: Sequence[Root] | None) -> Iterator[CompletionItem]:
    """What a path may go on to; `roots` are those named before a colon, None for all."""
    if roots is None:
        yield from _named(ask, query)
    keys = _ranked(ask, query, roots) if query else _first(ask, roots)
    for key in dict.fromkeys(keys):
        item = _offer(ask, key)
        if item is not None:
            yield item


def _named(ask: Ask, query: str) -> Iterator[CompletionItem]:
    """The kinds and roots whose names begin so; before anything was typed, open documents come first."""
    wanted = fold(query)
    if not wanted:
        yield from filter(None, (_offer(ask, path) for path in ask.opened))
    for kind in ask.kinds.kinds.values():
        if kind.word and kind.name.startswith(wanted):
            text = f"@{kind.name}:" if kind.argument == "required" else f"@{kind.name}"
            yield CompletionItem(text[1:], text, kind.help, ", ".join(kind.syntax), "kind")
    if len(ask.snapshot.roots) > 1:
        for root in ask.snapshot.roots:
            spelled = spell(root=root.name)
            if spelled and fold(root.name).startswith(wanted):
                yield CompletionItem(f"{root.name}:", spelled, root.path, kind="root")


def _first(ask: Ask, roots: Sequence[Root] | None) -> Iterator[str]:
    """What lies at the top, folders first."""
    catalog = paths_of(ask.snapshot)
    for root in ask.snapshot.roots if roots is None else roots:
        children = [child for child in catalog.children(root.path) if roots is not None or child not in ask.opened]
        yield from sorted(children, key=lambda child: not child.endswith("/"))


def _ranked(ask: Ask, query: str, roots: Sequence[Root] | None) -> list[str]:
    catalog = paths_of(ask.snapshot)
    ranked = _children(ask, query, roots) if "/" in query else []
    query = query.lstrip("/")
    if not query or (ranked and query.endswith("/")):
        return ranked
    several = len(ask.snapshot.roots) > 1
    tiers: dict[str, Tier] = {}
    opened = Haystack(((_whole(ask.snapshot, path, several), path) for path in ask.opened), paths=True)
    for tier, index in opened.search(query, len(opened)):
        tiers[opened.keys[index]] = tier
    wanted = (ask.limit + 1) * (2 * len(ask.snapshot.roots) if roots else 1)
    for tier, key in catalog.search(query, wanted):
        tiers.setdefault(key, tier)
    ranked += sorted(tiers, key=lambda k: (tiers[k], ask.recency(k), len(_whole(ask.snapshot, k, several)), k))
    if roots is None:
        return ranked
    prefixes = tuple(root.path + "/" for root in roots)
    return [key for key in ranked if key.startswith(prefixes)]


def _children(ask: Ask, query: str, roots: Sequence[Root] | None) -> list[str]:
    """What lies in the folder before the last slash and has the rest in its name, first where it begins so."""
    catalog = paths_of(ask.snapshot)
    folder, rest = query.rsplit("/", 1)
    rest = fold(rest)
    children = [child for place in _folders(ask, folder, roots) for child in catalog.children(place)]
    names = [(fold(child.rstrip("/").rsplit("/", 1)[-1]), child) for child in children]
    found = [((not name.startswith(rest), not child.endswith("/")), child) for name, child in names if rest in name]
    return [child for _, child in sorted(found)]


def _folders(ask: Ask, folder: str, roots: Sequence[Root] | None) -> list[str]:
    """The folders that "folder/" may be: from the top of a root, else any whose path ends so."""
    tops = ask.snapshot.roots if roots is None else roots
    catalog, folder = paths_of(ask.snapshot), folder.strip("/")
    if not folder:
        return [root.path for root in tops]
    exact = [f"{root.path}/{folder}" for root in tops if catalog.is_folder(f"{root.path}/{folder}")]
    if exact:
        return exact
    below = "/" + fold(folder)
    return [f for f in catalog.folders_named(folder.rsplit("/", 1)[-1]) if fold(f).endswith(below)]


def _whole(snapshot: Snapshot, key: str, several: bool) -> str:
    """A path as the catalog has it: below its root, and with the root's name if there are several."""
    root = snapshot.root_of(key.rstrip("/"))
    if root is None:
        return key
    name = key[len(root.path) + 1 :]
    return f"{root.name}/{name}" if several else name


def _offer(ask: Ask, key: str) -> CompletionItem | None:
    """A file, or (with a slash at the end) a folder; None if no mention can name it."""
    path, is_folder = key.rstrip("/"), key.endswith("/")
    if path == ask.request.document:  # nobody asks about the question that is being typed
        return None
    spelled = name_for(ask.snapshot, path, folder=is_folder, words=ask.words)
    if spelled is None:
        return None
    label = ask.snapshot.label(path)
    if is_folder:
        catalog = paths_of(ask.snapshot)
        count = catalog.count(path)
        price = (catalog.size(path) + _unsaved(ask.snapshot, path)) // 4 if ask.tokens is not None else None
        return CompletionItem(
            label + "/",
            spelled,
            f"folder, {'1 file' if count == 1 else f'{count:,} files'}",
            kind="folder",
            tokens=price,
        )
    entry = ask.snapshot.files.get(path)
    if entry is None:
        return None
    if entry.outline is None:
        return CompletionItem(label, spelled, entry.skipped)
    outline = entry.outline
    names = islice((s.name for s in outline.symbols if s.parent < 0 and s.name), 20)
    lines = "1 line" if outline.lines == 1 else f"{outline.lines:,} lines"
    price = cost(ask, path, outline.lines)
    return CompletionItem(label, spelled, f"{outline.language}, {lines}", ", ".join(names), "file", price)


def _unsaved(snapshot: Snapshot, folder: str) -> int:
    """How much more the open documents in a folder hold than their files."""
    inside = (path for path in snapshot.documents if path.startswith(folder + "/") and path in snapshot.files)
    return sum(len(snapshot.documents[path].text) - snapshot.files[path].size for path in inside)
