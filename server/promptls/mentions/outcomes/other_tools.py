"""Spellings of other tools that are text here: what to write instead.

Prefixes with a colon ("@file:", "#sym:", "@function:") are mentions; see `grammar`. Sources: the documentation of
GitHub Copilot Chat (#selection, #codebase, #changes, #problems), Cursor (@Files, @Folders, @Code, @Git, @Linter Errors),
Cline (@git-changes, @url), Continue (@currentFile, @repo-map, @http), JetBrains AI (#thisFile, #localChanges) and Zed
(@fetch).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.mentions.syntax.code_ranges import CodeRanges
from promptls.mentions.syntax.format import format_argument_mention
from promptls.model import Mention, MentionOutcome

_PATH, _FOLDER, _SYMBOL = "@ and the path of a file", "@ and the path of a folder with a slash", "@# and a name"
_ADVICE = {
    "code": _SYMBOL,
    "class": _SYMBOL,
    "def": _SYMBOL,
    "file": _PATH,
    "files": _PATH,
    "folder": _FOLDER,
    "folders": _FOLDER,
    "function": _SYMBOL,
    "method": _SYMBOL,
    "symbol": _SYMBOL,
    "symbols": _SYMBOL,
}
"""Word behind "@" in lower case → what to write."""

_SUGGESTIONS = {
    "changes": "@diff",
    "codebase": "@codebase",
    "currentfile": "@active",
    "git": "@diff",
    "git-changes": "@diff",
    "lint": "@diagnostics",
    "linter": "@diagnostics",
    "localchanges": "@diff",
    "problems": "@diagnostics",
    "repo-map": "@map",
    "selection": "@selection",
    "terminallastcommand": "@terminal",
    "terminalselection": "@terminal",
    "thisfile": "@active",
}
"""Word in lower case → the mention with the same content."""

_KINDS = {"git": "commit", "search": "codebase"}
"""Word before a colon → the kind of mention that takes the same argument."""

_WEB = frozenset({"fetch", "http", "url", "web"})
"""Words that add web pages."""

_HASH_WORD = re.compile(
    r"(?<![\w#@/&.-])#(?:changes|codebase|localChanges|problems|selection|thisFile|terminalLastCommand|terminalSelection)(?![\w/-]|[.:]\w)"
)
MAX_WORDS = 20
"""Maximum number of words with "#" that are reported."""


def word_as_text(mention: Mention) -> list[MentionOutcome]:
    """Return the outcome of an "@word" of another tool that names nothing here; none for all other words."""
    word = (mention.root or mention.target).lower()
    if mention.kind != "file" or mention.lines is not None:
        return []
    if word in _WEB:
        reason = (
            f"{mention.text} adds web pages in other tools; here it is text, because promptls reads local files only."
        )
        return [MentionOutcome(mention, "text", reason=reason)]
    if mention.root:
        kind = _KINDS.get(word, "")
        suggestion = format_argument_mention(kind, mention.target) or f"@{kind}"
        return [_text(mention, suggestion, suggestion)] if kind else []
    suggestion = _SUGGESTIONS.get(word, "")
    advice = suggestion or _ADVICE.get(word)
    return [_text(mention, advice, suggestion)] if advice else []


def hash_words(message: str, code: CodeRanges) -> Iterator[MentionOutcome]:
    """Yield the outcomes of words such as "#selection" outside of code."""
    count = 0
    for match in _HASH_WORD.finditer(message):
        if code.contains(match.start()):
            continue
        count += 1
        if count > MAX_WORDS:
            return
        suggestion = _SUGGESTIONS[match.group()[1:].lower()]
        yield _text(Mention(match.group(), match.start(), match.end(), "file", match.group()), suggestion, suggestion)


def _text(mention: Mention, advice: str, suggestion: str) -> MentionOutcome:
    reason = f"{mention.text} is the syntax of another tool, so it is text. Write {advice} to mention it."
    return MentionOutcome(mention, "text", reason=reason, suggestion=suggestion)
