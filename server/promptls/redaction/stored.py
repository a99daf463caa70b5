"""Redaction of what is stored: the cache on disk has the outlines of files and the words of their chunks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from promptls.languages.kinds import TITLED_KINDS
from promptls.model import Outline, Symbol
from promptls.redaction.place import place_of
from promptls.redaction.secrets import may_have_secret, redact

MAX_REDACTED_CHARACTERS = 100_000
"""Length of a text that is redacted as a whole; longer ones are data, such as translations and recorded responses."""
_TEXT_FIELDS = ("signature", "doc")


def stored_text(text: str, path: str) -> str:
    """Return the text whose words are stored: of settings, commands and prose, with the word "redacted" for each secret.

    The word, unlike a marker, is a value in the syntax of every such file, and the number of lines stays.
    Most passwords are in such files; to redact code, too, would take a sixth of the time of a scan.
    """
    place = place_of(path)
    if place.in_code or place.in_tests or len(text) > MAX_REDACTED_CHARACTERS:
        return text
    return redact(text, path, is_file=True, marker="redacted")[0]


def redact_outline(outline: Outline, path: str) -> Outline:
    """Redact the signatures, the documentation and the titles in an outline.

    Names of code stay: they are those that people search for.

    Args:
        outline: Outline of a file.
        path: Path of the file below its root, see `place.origin_of`.
    """
    code = [symbol.signature for symbol in outline.symbols]
    code += [symbol.name for symbol in outline.symbols if symbol.kind in TITLED_KINDS]
    prose = [outline.doc, *(symbol.doc for symbol in outline.symbols)]
    place_of_prose = path if place_of(path).in_tests else ""  # elsewhere it is searched like a text without a file
    changed = {**_redact_lines(_joined(code), path), **_redact_lines(_joined(prose), place_of_prose)}
    if not changed:
        return outline
    symbols: list[Symbol] = []
    for symbol in outline.symbols:
        fields = {name: changed[text] for name in _TEXT_FIELDS if (text := getattr(symbol, name)) in changed}
        name, qualified = symbol.name, symbol.qualified
        if symbol.parent >= 0 and qualified.startswith(before := outline.symbols[symbol.parent].qualified):
            qualified = symbols[symbol.parent].qualified + qualified[len(before) :]
        if symbol.kind in TITLED_KINDS and name in changed:
            fields["name"] = changed[name]
            qualified = qualified.removesuffix(name) + changed[name]
        if qualified != symbol.qualified:
            fields["qualified"] = qualified
        symbols.append(msgspec.structs.replace(symbol, **fields) if fields else symbol)
    return msgspec.structs.replace(outline, symbols=tuple(symbols), doc=changed.get(outline.doc, outline.doc))


def _joined(texts: Iterable[str]) -> str:
    """Return the texts that can have a secret as lines of one text, each once: one search is faster than many."""
    return "\n".join({text: None for text in texts if may_have_secret(text)})


@lru_cache(maxsize=8)  # most edits of a document leave these texts as they are
def _redact_lines(text: str, path: str) -> dict[str, str]:
    """Return the redacted form of each line that has a secret."""
    if not text:
        return {}
    redacted, _ = redact(text, path)
    lines = zip(text.split("\n"), redacted.split("\n"), strict=True)
    return {before: after for before, after in lines if before != after}
