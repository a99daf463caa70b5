"""Workspace roots, file entries of the index, and file texts; and recognition of prompt documents."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from promptls.model.outlines import OutlineView, outline_view
from promptls.util.text.positions import Span

VIRTUAL_SCHEME = "promptls:"
"""Prefix of the path of a virtual document: a diff or terminal output."""


class Root(Struct, frozen=True):
    """A workspace folder."""

    path: str  # absolute, without a trailing slash
    name: str  # root name in mentions: "@name:src/a.py"
    uri: str


class FileEntry(Struct, frozen=True, gc=False):
    """One file in the index."""

    path: str
    root: str  # path of its Root
    name: str  # path relative to the root, forward slashes
    size: int = 0  # bytes on disk
    mtime_ns: int = 0
    content_hash: bytes = b""  # 16 bytes of BLAKE2b of the text; b"" until scanned or when skipped
    version: int | None = None  # document version of an open buffer, None for a file on disk
    encoded_outline: bytes = b""  # output of `encode_outline`; b"" until scanned or when skipped
    skip_reason: str = ""  # why the text is not indexed: "binary", "2.1 MB is over the limit of 1 MB", …

    @property
    def scanned(self) -> bool:
        """Whether the file has an outline, or a reason for having none."""
        return bool(self.encoded_outline or self.skip_reason)

    @property
    def outline(self) -> OutlineView | None:
        """The outline, or None while only the name is known."""
        return outline_view(self.encoded_outline) if self.encoded_outline else None


class FileText(Struct, frozen=True):
    """The current text of a file, and the entry whose outline was made from exactly this text."""

    entry: FileEntry
    text: str
    lines: tuple[str, ...]  # without line ends
    encoding_note: str = ""  # what may be wrong with the decoded text, as a sentence without subject

    def slice(self, span: Span) -> str:
        """Return the lines of a span, joined by line feeds."""
        return "\n".join(self.lines[span.start : span.end])


# ---- prompt documents

PROMPT_LANGUAGE = "promptls"
"""LSP language ID of prompt documents."""
PROMPT_SUFFIXES = (".promptls.md", ".prompt.md")
"""File name suffixes of prompt documents; Markdown, so that editors without the language ID highlight them."""
_PROMPT_FILES = re.compile(r"(?:^|/)\.github/prompts/")
"""Prompt files of VS Code have the second suffix, too; in this folder and with its language ID they are not ours."""


def is_prompt_document(name: str, language: str = "", extra_languages: Collection[str] = ()) -> bool:
    """Return whether a document is a prompt document, by its URI or path and its LSP language ID ("" if unknown).

    `extra_languages` are those of the setting `documents.languages`.
    """
    if language == PROMPT_LANGUAGE or language in extra_languages or name.endswith(PROMPT_SUFFIXES[0]):
        return True
    return name.endswith(PROMPT_SUFFIXES[1]) and language != "prompt" and _PROMPT_FILES.search(name) is None


# ---- instruction files

_INSTRUCTION_NAMES = frozenset(
    {
        "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "CODEBUDDY.md", "SKILL.md", "copilot-instructions.md",
        ".cursorrules", ".windsurfrules", ".clinerules", ".codebuddyrules",
    }
)  # fmt: skip
_INSTRUCTION_SUFFIXES = (".instructions.md", ".prompt.md", ".mdc", ".rule.md", ".chatmode.md", ".agent.md")
_INSTRUCTION_FOLDERS = re.compile(
    r"(?:^|/)\.(?:cursor/rules|claude/(?:rules|commands|agents)|github/(?:instructions|prompts|agents)|windsurf/rules"
    r"|clinerules|roo/rules|continue/rules|promptls/rules|codebuddy/rules|sourcegraph)/[^/]"
    r"|(?:^|/)\.(?:promptls|codebuddy)/rules\.md$"
)


def is_instruction_file(name: str) -> bool:
    """Return whether a path or URI is that of an instruction file for coding agents."""
    base = name.rsplit("/", 1)[-1]
    named = base in _INSTRUCTION_NAMES or base.endswith(_INSTRUCTION_SUFFIXES)
    return named or _INSTRUCTION_FOLDERS.search(name) is not None
