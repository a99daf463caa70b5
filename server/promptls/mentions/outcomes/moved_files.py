"""Current path of a file that was renamed: by the renames in the git history, or by the text of the last commit."""

from __future__ import annotations

from functools import lru_cache

from promptls.git import diff
from promptls.mentions.context import ResolveContext
from promptls.model import Problem, Root
from promptls.util.hashing import content_hash

MAX_BYTES = 1_000_000
"""Maximum size of a file whose text is compared, in bytes; bounds the time of an answer."""


def moved_path(context: ResolveContext, name: str, roots: tuple[Root, ...]) -> str:
    """Return the current absolute path of a file that had this name relative to a root, or ""."""
    for root in roots:
        (history,) = context.services.git_history.histories([root.path])
        renamed = f"{root.path}/{history.former_names.get(name, '')}"
        if renamed in context.snapshot.files:
            return renamed
        if name not in history.files or f"{root.path}/{name}" in context.snapshot.files:
            continue
        committed = _committed_hash(root.path, history.head, name)
        same = (path for path, entry in context.snapshot.files.items() if entry.content_hash == committed)
        found = next((path for path in same if path.startswith(root.path + "/")), "") if committed else ""
        if found:
            return found
    return ""


@lru_cache(maxsize=64)
def _committed_hash(folder: str, head: str, name: str) -> bytes:
    """Return the content hash of a file in the last commit; `head` identifies the commit in the cache."""
    text = diff.text_at_head(folder, name, MAX_BYTES)
    return b"" if isinstance(text, Problem) else content_hash(text)
