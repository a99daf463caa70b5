"""Resolvers of file sets: "@glob:…", "@layer:…", "@map", "@tree", "@rules", and of "@memory".

Up to `MAX_WHOLE_FILES` files are separate items.  More files are one outline, and packing selects the relevant ones,
as for a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from promptls.index import Snapshot, match_globs
from promptls.knowledge import memory_requests, rule_files
from promptls.knowledge.project.file_kind import layer_of
from promptls.knowledge.rule_filters import MAX_GLOBS, expand_braces
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import included, refused, unresolved, virtual_item
from promptls.mentions.path_lookup import access_denied_reason, files_below, find_roots, resolve_folders, split_root
from promptls.mentions.syntax.grammar import LAST_LINE, full_argument
from promptls.model import VIRTUAL_SCHEME, FileText, Item, Mention, MentionOutcome, Origin, Root, Span
from promptls.redaction.secret_files import secret_reason
from promptls.util.text.display import plural
from promptls.util.text.unicode_forms import spellings_of

MAX_WHOLE_FILES = 12
"""Number of files up to which each file is an item of its own."""

MAX_FILES = 200
"""Maximum number of files of a set that packing considers."""

MAX_MAPPED_FILES = 60
"""Maximum number of files of a repo map."""


def file_set_outcome(
    mention: Mention, context: ResolveContext, name: str, paths: Sequence[str], reason: str = ""
) -> MentionOutcome:
    """Return the outcome for a set of files, in this order."""
    files = context.snapshot.files
    shown = [path for path in paths if not files[path].skip_reason and not secret_reason(files[path].name)]
    items = [_file_item(context, path) for path in shown[:MAX_FILES]]
    if len(shown) > MAX_FILES:
        reason = f"{reason} Only the first {MAX_FILES} of {len(shown):,} files are considered.".strip()
    if len(items) <= MAX_WHOLE_FILES:
        return included(mention, items, reason)
    head = Item(VIRTUAL_SCHEME + name, Span(0, 0), "folder", Origin.MENTION, 1.0)
    return included(mention, [head, *items], reason)


def is_glob(target: str) -> bool:
    """Return whether a path is a pattern: it has stars, question marks or choices in braces."""
    return bool(set(target) & set("*?")) or expand_braces(target) != [target]


def resolve_glob(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@glob:…" to the files that match a pattern in gitignore syntax with braces."""
    snapshot = context.snapshot
    root, pattern = (mention.root, mention.target) if mention.root else split_root(snapshot, full_argument(mention))
    if prod(choices.count(",") + 1 for choices in pattern.split("{")[1:]) > MAX_GLOBS:
        return refused(mention, f'The braces of "{pattern}" have more than {MAX_GLOBS} combinations; use fewer.')
    paths = match_glob(snapshot, pattern, find_roots(snapshot, root))
    if not paths:
        return unresolved(mention, f'No file matches the pattern "{pattern}".')
    return file_set_outcome(mention, context, mention.text, paths, f"Matched {plural(len(paths), 'file')}.")


def match_glob(snapshot: Snapshot, pattern: str, roots: Sequence[Root]) -> list[str]:
    """Return the files of roots that match a pattern, sorted by path within each root."""
    paths: list[str] = []
    expanded = [spelling for glob in expand_braces(pattern) for spelling in spellings_of(glob)]
    globs = [glob if glob.startswith("/") or "/" not in glob else "/" + glob for glob in expanded]
    for root in roots:
        names = [path[len(root.path) + 1 :] for path in snapshot.files if path.startswith(root.path + "/")]
        paths += [f"{root.path}/{name}" for name in sorted(match_globs(names, globs))]
    return list(dict.fromkeys(paths))


def resolve_layer(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@layer:…" to the files of an architectural layer."""
    snapshot, name = context.snapshot, mention.target.lower()
    by_layer: dict[str, list[str]] = {}
    for path in sorted(snapshot.files):
        by_layer.setdefault(layer_of(snapshot.label(path), context.services.layers), []).append(path)
        context.token.check()
    layer = next((layer for layer in by_layer if layer.lower() == name), "") or next(
        (layer for layer in by_layer if name in layer.lower().split()), ""
    )
    if not layer:
        layers = ", ".join(sorted(by_layer))
        return unresolved(mention, f'Layer "{mention.target}" not found; available: {layers}.')
    paths = by_layer[layer]
    return file_set_outcome(mention, context, f"layer {layer}", paths, f"{plural(len(paths), 'file')}.")


def resolve_map(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@map" to the outlines of the most-referenced files."""
    paths = _files_under_argument(mention, context)
    if paths is None:
        return _folder_not_found(mention)
    files, all_weights = context.snapshot.files, context.graph.file_weights
    weights = {path: all_weights.get(path, 0.0) for path in paths if files[path].encoded_outline}
    best = sorted(weights, key=lambda path: (-round(weights[path], 6), path))[:MAX_MAPPED_FILES]
    if not best:
        return unresolved(mention, "No files with an outline found for the map.")
    name = f"map {full_argument(mention)}".strip()
    head = Item(VIRTUAL_SCHEME + name, Span(0, 0), "folder", Origin.MENTION, 1.0)
    items = [head, *(_file_item(context, path) for path in best)]
    return included(mention, items, f"The {plural(len(best), 'most-referenced file')}.")


def resolve_tree(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@tree" to a virtual document with the names of all folders and files."""
    paths = _files_under_argument(mention, context)
    if not paths:
        return _folder_not_found(mention)
    lines: list[str] = []
    previous: list[str] = []
    for path in sorted(paths, key=lambda p: context.snapshot.label(p).replace(":", "/").split("/")):
        *folders, name = context.snapshot.label(path).replace(":", "/").split("/")
        shared = 0
        while shared < min(len(previous), len(folders)) and previous[shared] == folders[shared]:
            shared += 1
        lines += [f"{'  ' * i}{folders[i]}/" for i in range(shared, len(folders))]
        lines.append(f"{'  ' * len(folders)}{name}")
        previous = folders
    item = virtual_item(context, f"tree {full_argument(mention)}".strip(), "\n".join(lines), "tree")
    return included(mention, [item], f"{plural(len(paths), 'file')}.")


def _file_item(context: ResolveContext, path: str) -> Item:
    outline = context.snapshot.files[path].outline
    return Item(path, Span(0, outline.lines if outline is not None else LAST_LINE), "file", Origin.MENTION, 1.0)


def _folder_not_found(mention: Mention) -> MentionOutcome:
    return unresolved(mention, f'Folder "{full_argument(mention)}" not found in the workspace.')


def _files_under_argument(mention: Mention, context: ResolveContext) -> list[str] | None:
    """Return the files below the folder of the argument, all files without one, or None if it does not exist."""
    snapshot = context.snapshot
    if not mention.target:
        return [path for path in snapshot.files if snapshot.root_of(path) is not None]
    folders = resolve_folders(context, full_argument(mention))
    if not folders or access_denied_reason(context, folders[0]):
        return None
    return files_below(snapshot, folders)


def resolve_rules(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@rules" to the rule files that apply to the open documents."""
    documents = [path for path in (context.client.active_document, *context.client.open_documents) if path]
    rule_set = rule_files.collect_rules(context.sources, documents)
    items: list[Item] = []
    for path in dict.fromkeys(rule.path for rule in rule_set.active):
        view = context.sources.read(path, explicit=True)
        if isinstance(view, FileText) and not access_denied_reason(context, path):
            items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if not items:
        return unresolved(mention, "No rule files (such as AGENTS.md) apply to the open documents.")
    return included(mention, items)


def resolve_memory(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@memory" to all entries of the memory, or to those relevant to the argument."""
    memory, empty = context.services.memory, unresolved(mention, "The memory has no entries.")
    if memory is None:
        return empty
    now = memory.clock()
    entries = [entry for entry in memory.load(context.snapshot.roots).entries if not entry.is_expired(now)]
    if not entries:
        return empty
    if mention.target:
        entries = [hit.entry for hit in memory_requests.search_entries(entries, mention.target)]
        if not entries:
            return unresolved(mention, f'No memory entry matches "{mention.target}".')
    text = "\n".join(memory_requests.format_entry(entry) for entry in entries)
    return included(
        mention, [virtual_item(context, "memory", text, "memory")], f"{plural(len(entries), 'entry', 'entries')}."
    )
