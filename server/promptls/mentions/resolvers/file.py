"""Resolvers of files, folders and roots: "@src/a.py", "@a.py:10-20", "@dir/", "@root:src/a.py", "@workspace", "@root:".

Several files with one name are ambiguous, unless the editor state selects one of them; then the reason explains the
choice.  Also accepts folders without their slash, roots without their colon, and files that are not indexed yet.

The first target of a folder is the folder itself.  Its files follow level by level, up to a limit.  Packing decides
which of them go into a prompt, and in which form.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from promptls.index import file_stat, folder_exists, from_uri
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import (
    ambiguous_paths,
    file_outcome,
    included,
    refused,
    unresolved,
    with_note,
)
from promptls.mentions.path_lookup import (
    MatchLevel,
    PathMatches,
    access_denied_reason,
    find_files,
    find_folders,
    find_on_disk,
    find_roots,
    mention_for,
    sort_by_proximity,
    suggest_by_stem,
    suggest_exact_symbol,
    suggest_path,
)
from promptls.mentions.resolvers import file_sets
from promptls.mentions.syntax.grammar import LAST_LINE, is_package_like, is_path_like
from promptls.model import Item, Mention, MentionOutcome, Origin, Span
from promptls.redaction.secret_files import secret_reason

_WEB_SCHEMES = ("http", "https", "ftp")
_WEB_ADDRESSES = tuple(f"{scheme}://" for scheme in _WEB_SCHEMES)


def resolve_file(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of a file or of lines in it."""
    snapshot = context.snapshot
    roots = find_roots(snapshot, mention.root)
    if not roots and mention.root:
        return _resolve_unknown_root(mention, context)
    matches = find_files(context, mention.target, roots)
    if len(matches.paths) == 1:
        return file_outcome(mention, context, matches.paths[0], _case_note(mention, context, matches))
    if matches.paths:
        selected, reason = _select_by_editor_state(context, matches)
        if selected:
            others = [path for path in matches.paths if path != selected]
            reason = f"{len(matches.paths)} files match {mention.text}; selected {reason}."
            outcome = file_outcome(mention, context, selected, reason)
            return replace(outcome, candidates=ambiguous_paths(mention, context, others).candidates)
        return ambiguous_paths(mention, context, matches.paths)
    if mention.lines is None:
        as_folder = _resolve_as_folder(mention, context)
        if as_folder is not None:
            return as_folder
    path = find_on_disk(context, mention.target, roots)
    if path is not None:
        if folder_exists(path):
            return unindexed_folder(mention, context, path)
        return file_outcome(mention, context, path)
    if mention.lines is None and file_sets.is_glob(mention.target):
        return file_sets.resolve_glob(mention, context)
    return _not_found(mention, context, matches.outside)


def _case_note(mention: Mention, context: ResolveContext, matches: PathMatches) -> str:
    """Return a note if the path was matched ignoring case, else ""."""
    label = context.snapshot.label(matches.paths[0])
    same = unicodedata.normalize("NFC", label).endswith(unicodedata.normalize("NFC", mention.target))
    if matches.level.differs_in_case and not same:
        return f"{mention.text} was resolved to {label} ignoring case."
    return ""


def _select_by_editor_state(context: ResolveContext, matches: PathMatches) -> tuple[str, str]:
    """Return the file that the editor state selects and the reason, or empty strings."""
    client = context.client
    if client.active_document in matches.paths:
        return client.active_document, "the active document"
    open_matches = [path for path in client.open_documents if path in matches.paths]
    if len(open_matches) == 1:
        return open_matches[0], "the open one"
    active_folder = client.active_document.rsplit("/", 1)[0] if client.active_document else ""
    siblings = [path for path in matches.paths if active_folder and path.rsplit("/", 1)[0] == active_folder]
    if not open_matches and len(siblings) == 1:
        return siblings[0], "the one in the folder of the active document"
    return "", ""


def _resolve_as_folder(mention: Mention, context: ResolveContext) -> MentionOutcome | None:
    """Resolve a folder or root that was written like a file, or return None.

    A word in prose names a folder only by its exact path below a root: "@hmr" is not "playground/hmr/".
    """
    matches = find_folders(context, mention.target, find_roots(context.snapshot, mention.root))
    plain_word = not mention.root and "/" not in mention.target and "\\" not in mention.target
    if matches.paths and not (plain_word and matches.level is not MatchLevel.EXACT):
        outcome = folder_outcome(replace(mention, kind="folder"), context, matches.paths)
        name = mention_for(context.snapshot, matches.paths[0], folder=True) if len(matches.paths) == 1 else None
        return with_note(outcome, mention, f"{mention.text} is a folder, {name}." if name else "It is a folder.")
    if plain_word and len(context.snapshot.roots) > 1:
        for root in context.snapshot.roots:
            if root.name == mention.target:
                outcome = folder_outcome(replace(mention, kind="workspace"), context, (root.path,))
                return with_note(outcome, mention, f"{mention.text} is a workspace folder, @{root.name}:.")
    return None


def _resolve_unknown_root(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@x:y" without a root x: a URI, or a file name with a colon."""
    if mention.root in _WEB_SCHEMES or mention.target.startswith(_WEB_ADDRESSES):
        return refused(mention, "Cannot include web pages; promptls reads local files only.")
    uri_path = from_uri(f"file:{mention.target}") if mention.root == "file" else None
    if uri_path:
        return with_note(resolve_file(replace(mention, target=uri_path, root=""), context), mention, "")
    with_colon = replace(mention, target=f"{mention.root}:{mention.target}", root="")
    outcome = resolve_file(with_colon, context)
    if outcome.status != "unresolved":
        return with_note(outcome, mention, "")
    return unknown_root(mention, context, resolve_file(replace(mention, root=""), context))


def _not_found(mention: Mention, context: ResolveContext, outside: bool) -> MentionOutcome:
    target = mention.target
    absolute = target.replace("\\", "/")
    if outside or absolute.startswith("~/") or (absolute.startswith("/") and file_stat(absolute) is not None):
        return refused(mention, f"{target} is outside of the workspace; mention a file inside.")
    if mention.lines is None and not is_path_like(target) and not is_package_like(target):
        # A word in prose resembles many names.
        suggestion = (
            suggest_by_stem(context, target)
            or _symbol_suggestion(mention, context)
            or _folder_suggestion(mention, context)
        )
    else:
        roots = find_roots(context.snapshot, mention.root)
        suggestion = _symbol_suggestion(mention, context) or suggest_path(
            context, target, roots, is_package_like(target), mention.lines
        )
    return unresolved(mention, f'File "{target}" not found in the workspace.', suggestion)


def _folder_suggestion(mention: Mention, context: ResolveContext) -> str:
    """Return a mention of the first folder with a name; "" for none."""
    folders = find_folders(context, mention.target, context.snapshot.roots).paths
    paths = sort_by_proximity(context, folders)
    return (mention_for(context.snapshot, paths[0], folder=True) or "") if paths else ""


def _symbol_suggestion(mention: Mention, context: ResolveContext) -> str:
    """Return a mention of the symbol that was written like a file name; "" for none."""
    is_word = not mention.root and mention.lines is None and not {"/", "\\"} & {*mention.target}
    return suggest_exact_symbol(context, mention.target) if is_word else ""


# ---------------------------------------------------------------- folders

MAX_FILES = 200
"""Maximum number of files of a folder that packing considers."""


def resolve_folder(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of a folder to the folder and its files."""
    snapshot = context.snapshot
    roots = find_roots(snapshot, mention.root)
    if mention.root and not roots:
        return unknown_root(mention, context, resolve_folder(replace(mention, root=""), context))
    matches = find_folders(context, mention.target, roots)
    if matches.paths:
        note = ""
        if matches.level.differs_in_case and len(matches.paths) == 1:
            note = f"{mention.text} was resolved to {snapshot.label(matches.paths[0])}/ ignoring case."
        return with_note(folder_outcome(mention, context, matches.paths), mention, note)
    files = find_files(context, mention.target, roots)
    if len(files.paths) == 1:
        note = f"{snapshot.label(files.paths[0])} is a file, not a folder."
        return file_outcome(mention, context, files.paths[0], note)
    path = find_on_disk(context, mention.target, roots)
    if path is not None:
        return unindexed_folder(mention, context, path)
    if matches.outside or mention.target.startswith("~"):
        return refused(mention, f"{mention.target} is outside of the workspace; mention a folder inside.")
    return unresolved(
        mention,
        f'Folder "{mention.target}" not found in the workspace.',
        suggest_path(context, mention.target, roots),
    )


def folder_outcome(
    mention: Mention, context: ResolveContext, folders: Sequence[str], include_all: bool = False
) -> MentionOutcome:
    """Return the outcome for indexed folders; several are ambiguous unless all of them are included."""
    if len(folders) > 1 and not include_all:
        return ambiguous_paths(mention, context, folders, folder=True)
    files, index = context.snapshot.files, context.path_index
    items = [Item(folder, Span(0, 0), "folder", Origin.MENTION, 1.0) for folder in folders]
    paths = list(islice((path for path in _by_level(context, folders) if _is_shown(context, path)), MAX_FILES))
    for path in paths:
        outline = files[path].outline
        # The span of a file without an outline is open; the reader clamps it to the text.
        end = outline.lines if outline is not None else LAST_LINE
        items.append(Item(path, Span(0, end), "file", Origin.MENTION, 1.0))
    reason = ""
    count = sum(map(index.file_count, folders))
    if count > MAX_FILES:
        reason = f"Contains {count:,} files; only the {len(paths)} nearest to its top are considered."
    return included(mention, items, reason)


def unindexed_folder(mention: Mention, context: ResolveContext, path: str) -> MentionOutcome:
    """Return the outcome for a folder (or file) that exists on disk but not in the index."""
    if not folder_exists(path):
        return file_outcome(mention, context, path, f"{context.snapshot.label(path)} is a file, not a folder.")
    denied = access_denied_reason(context, path)
    if denied:
        return refused(mention, denied)
    label = context.snapshot.label(path)
    return MentionOutcome(mention, "omitted", reason=f"The folder {label}/ contains no indexed files.")


def unknown_root(mention: Mention, context: ResolveContext, without_root: MentionOutcome) -> MentionOutcome:
    """Return the outcome for an unknown root name; `without_root` is the outcome of the mention without it."""
    names = ", ".join(sorted(root.name for root in context.snapshot.roots)) or "none"
    suggestion = without_root.suggestion
    if without_root.status == "included":
        item = without_root.targets[0]
        is_folder = item.kind == "folder"
        lines = None if is_folder else mention.lines
        suggestion = mention_for(context.snapshot, item.path, folder=is_folder, lines=lines) or ""
    return unresolved(mention, f'Workspace folder "{mention.root}" not found; available: {names}.', suggestion)


def _by_level(context: ResolveContext, folders: Iterable[str]) -> Iterator[str]:
    """Yield the files of folders level by level."""
    index = context.path_index
    level = list(folders)
    while level:
        children = sorted({child for folder in level for child in index.children(folder)})
        yield from (child for child in children if child[-1] != "/")
        level = [child[:-1] for child in children if child[-1] == "/"]
        context.token.check()


def _is_shown(context: ResolveContext, path: str) -> bool:
    """Return whether a file has a text that may be shown; rules are checked only for files the walk has not listed."""
    entry = context.snapshot.files[path]
    return (
        not entry.skip_reason
        and not secret_reason(entry.name)
        and (bool(entry.mtime_ns) or not access_denied_reason(context, path))
    )


# ---------------------------------------------------------------- roots


def resolve_workspace(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of all roots or of one root to their files.

    All roots together have no targets if there is a question: it is asked about the workspace without a mention, too.
    """
    roots = find_roots(context.snapshot, mention.root)
    if roots and len(roots) == len(context.snapshot.roots) and context.question.strip():
        return MentionOutcome(mention, "included", reason="The question is about the whole workspace.")
    if roots:
        return folder_outcome(mention, context, [root.path for root in roots], include_all=True)
    if not mention.root:
        return unresolved(mention, "The editor has no workspace folder open.")
    # "@README: why …" is a file and the colon of the sentence.
    as_file = Mention(mention.text.rstrip(":"), mention.start, mention.end - 1, "file", mention.root)
    outcome = resolve_file(as_file, context)
    if outcome.status != "unresolved":
        return outcome
    return replace(unknown_root(mention, context, outcome), suggestion=outcome.suggestion)
