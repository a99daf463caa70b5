"""The resolvers of many files at once: "@glob:…", "@layer:…", "@map", "@tree".

A few files come whole.  Many come as one outline, and which of them the question is about is found as for a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from promptls.graph.layers import layer_of
from promptls.index import files as disk
from promptls.index.snapshot import EXHIBIT, Snapshot, split_lines
from promptls.knowledge.rules.filters import MOST_GLOBS, expanded
from promptls.mentions.context import Request
from promptls.mentions.grammar import LAST_LINE, argument
from promptls.mentions.outcomes import included, refused, unresolved
from promptls.mentions.path_lookup import barred, files_in, folders_at, root_and_path, roots_named
from promptls.model import Item, Mention, MentionOutcome, Origin, Root, Span

WHOLE = 12
"""Files up to which each is an item of its own."""

MOST = 200
MAPPED = 60
"""Files of a map."""

COMMON = 4
"""A name that more files than this define says little about which of them others lean on."""


def group(mention: Mention, request: Request, name: str, paths: Sequence[str], reason: str = "") -> MentionOutcome:
    """The outcome for files that belong together, in this order."""
    shown = [path for path in paths if not request.snapshot.files[path].skipped and not disk.secret(path)]
    items = [_file(request, path) for path in shown[:MOST]]
    if len(shown) > MOST:
        reason = f"{reason} {len(shown):,} files; the first {MOST} are looked at.".strip()
    if len(items) <= WHOLE:
        return included(mention, items, reason)
    head = Item(EXHIBIT + name, Span(0, 0), "folder", Origin.MENTION, 1.0)
    return included(mention, [head, *items], reason)


def _file(request: Request, path: str) -> Item:
    outline = request.snapshot.files[path].outline
    return Item(path, Span(0, outline.lines if outline is not None else LAST_LINE), "file", Origin.MENTION, 1.0)


def is_pattern(target: str) -> bool:
    """Whether a path stands for those that fit: it has stars, question marks or choices in braces."""
    return bool(set(target) & set("*?")) or expanded(target) != [target]


def resolve_glob(mention: Mention, request: Request) -> MentionOutcome:
    """The files whose paths fit a pattern, as in an ignore file."""
    snapshot = request.snapshot
    root, pattern = (mention.root, mention.target) if mention.root else root_and_path(snapshot, argument(mention))
    if prod(choices.count(",") + 1 for choices in pattern.split("{")[1:]) > MOST_GLOBS:
        return refused(mention, f'The braces of "{pattern}" have more than {MOST_GLOBS} choices; write fewer of them.')
    found = fitting(snapshot, pattern, roots_named(snapshot, root))
    if not found:
        return unresolved(mention, f'No file fits the pattern "{pattern}".')
    return group(mention, request, mention.text, found, f"{len(found):,} files fit.")


def fitting(snapshot: Snapshot, pattern: str, roots: Sequence[Root]) -> list[str]:
    """Files of these roots that a pattern picks, by path."""
    out: list[str] = []
    patterns = [one if one.startswith("/") or "/" not in one else "/" + one for one in expanded(pattern)]
    for root in roots:
        names = [path[len(root.path) + 1 :] for path in snapshot.files if path.startswith(root.path + "/")]
        picked = disk.matching(names, patterns)
        out += [f"{root.path}/{name}" for name in sorted(picked)]
    return list(dict.fromkeys(out))


def resolve_layer(mention: Mention, request: Request) -> MentionOutcome:
    """The files of a layer of the architecture."""
    snapshot, wanted = request.snapshot, mention.target.lower()
    by_layer: dict[str, list[str]] = {}
    for path in sorted(snapshot.files):
        by_layer.setdefault(layer_of(snapshot.label(path), request.around.layers), []).append(path)
        request.token.check()
    found = next((name for name in by_layer if name.lower() == wanted), "") or next(
        (name for name in by_layer if wanted in name.lower().split()), ""
    )
    if not found:
        names = ", ".join(sorted(by_layer))
        return unresolved(mention, f'There is no layer "{mention.target}" here; there are {names}.')
    return group(mention, request, f"layer {found}", by_layer[found], f"{len(by_layer[found]):,} files.")


def resolve_map(mention: Mention, request: Request) -> MentionOutcome:
    """The outline of the files that most others lean on."""
    paths = _under(mention, request)
    if paths is None:
        return _no_folder(mention)
    files, view = request.snapshot.files, request.graph
    weights = {path: 0.0 for path in paths if files[path].outlined}
    spoken = view.spoken
    for name, places in request.snapshot.names.items():
        told = min(20.0, spoken[name] / len(places)) if name in spoken and len(places) <= COMMON else 0.0
        for path in {path for path, _ in places} if told else ():
            tops = (index for other, index in places if other == path and path in weights)
            if any((symbol := view.symbol((path, index))) is not None and symbol.parent < 0 for index in tops):
                weights[path] += told
        request.token.check()
    best = sorted(weights, key=lambda path: (-round(weights[path], 6), path))[:MAPPED]
    if not best:
        return unresolved(mention, "There are no files to make a map of.")
    head = Item(EXHIBIT + "map", Span(0, 0), "folder", Origin.MENTION, 1.0)
    return included(mention, [head, *(_file(request, p) for p in best)], f"The {len(best)} files used most.")


def resolve_tree(mention: Mention, request: Request) -> MentionOutcome:
    """The names of all folders and files."""
    paths = _under(mention, request)
    if not paths:
        return _no_folder(mention)
    lines: list[str] = []
    above: list[str] = []
    for path in sorted(paths, key=lambda p: request.snapshot.label(p).replace(":", "/").split("/")):
        *folders, name = request.snapshot.label(path).replace(":", "/").split("/")
        same = 0
        while same < min(len(above), len(folders)) and above[same] == folders[same]:
            same += 1
        lines += [f"{'  ' * i}{folders[i]}/" for i in range(same, len(folders))]
        lines.append(f"{'  ' * len(folders)}{name}")
        above = folders
    text = "\n".join(lines)
    place = request.sources.exhibit(f"tree {argument(mention)}".strip(), text)
    item = Item(place, Span(0, len(split_lines(text))), "tree", Origin.MENTION, 1.0)
    return included(mention, [item], f"{len(paths):,} files.")


def _no_folder(mention: Mention) -> MentionOutcome:
    return unresolved(mention, f'There is no folder "{argument(mention)}" in the workspace.')


def _under(mention: Mention, request: Request) -> list[str] | None:
    """The files of the folder that an argument names, all without one; None if there is no such folder."""
    snapshot = request.snapshot
    if not mention.target:
        return [path for path in snapshot.files if snapshot.root_of(path) is not None]
    folders = folders_at(request, argument(mention))
    if not folders or barred(request, folders[0]):
        return None
    return files_in(snapshot, folders)
