"""Check whether the declared licence of a package is permissive.

Debian: the stanzas of `debian/copyright` (machine-readable format 1.0) name a licence for each file. npm: the field
`license`. Only exact names in the list count, or a choice that contains one. A missing declaration, another format, an
unknown name and a similar name ("BSD-like", "BSD-3-Clause-Foo") are not permissive.
"""

from __future__ import annotations

import fnmatch
import re
from typing import NamedTuple

_PERMISSIVE = frozenset(
    "mit mit-0 expat x11 isc zlib unlicense 0bsd cc0 cc0-1.0 bsd-1-clause bsd-2-clause bsd-3-clause bsd-4-clause bsd-2 "
    "bsd-3 bsd-4 apache-2 apache-2.0 apache2 apache2.0 asl-2.0 psf psf-2 psf-2.0 python python-2.0 bsl-1 bsl-1.0 boost-1.0".split()
)
_TOKENS = re.compile(r"[(),/]|\|\|?|[^\s(),/|]+")


class Declared(NamedTuple):
    """One stanza: file patterns and their licence."""

    patterns: tuple[str, ...]
    licence: str


def permissive(expression: str) -> bool:
    """Return whether a licence expression allows the choice of a permissive licence, or names only such.

    "and" has a higher precedence than "or", and a comma a lower one than both; a slash and a bare comma count as "and".
    A name of several words, such as one "with" an exception, is not in the list.
    """
    tokens = [{"|": "or", "||": "or", "/": "and"}.get(t, t) for t in _TOKENS.findall(expression.lower())]
    try:
        return _listed(tokens) and not tokens
    except IndexError:  # the expression is incomplete
        return False


def _listed(tokens: list[str]) -> bool:
    """Parse choices between commas, with the closing token, from the front of `tokens`."""
    value = _choice(tokens)
    while tokens and tokens[0] == ",":
        tokens.pop(0)
        either = tokens.pop(0) == "or" if tokens[0] in ("and", "or") else False
        other = _choice(tokens)
        value = value or other if either else value and other
    return value


def _choice(tokens: list[str]) -> bool:
    value = _all(tokens)
    while tokens and tokens[0] == "or":
        tokens.pop(0)
        value = _all(tokens) or value
    return value


def _all(tokens: list[str]) -> bool:
    value = _one(tokens)
    while tokens and tokens[0] == "and":
        tokens.pop(0)
        value = _one(tokens) and value
    return value


def _one(tokens: list[str]) -> bool:
    """Parse a name, or an expression in parentheses."""
    if tokens[0] == "(":
        tokens.pop(0)
        value = _listed(tokens)
        return tokens.pop(0) == ")" and value
    words = [tokens.pop(0)]
    while tokens and tokens[0] not in ("and", "or", ",", ")", "("):
        words.append(tokens.pop(0))
    return len(words) == 1 and words[0] in _PERMISSIVE


def declared(copyright_file: str) -> list[Declared]:
    """Return the stanzas of a machine-readable copyright file; none for other formats."""
    if not re.match(r"\s*Format(-Specification)?:.*", copyright_file):
        return []
    found = []
    for stanza in re.split(r"\n\s*\n", copyright_file):
        fields = dict(re.findall(r"^(Files|License):[ \t]*((?:.|\n(?=[ \t]))*)", stanza, re.MULTILINE))
        if "Files" in fields:
            licence = fields.get("License", "").split("\n", 1)[0].strip()
            found.append(Declared(tuple(fields["Files"].replace(",", " ").split()), licence))
    return found


def all_permissive(stanzas: list[Declared]) -> bool:
    """Return whether everything except the packaging is permissive."""
    own = [s for s in stanzas if not all(p.startswith("debian/") for p in s.patterns)]
    return bool(own) and all(permissive(s.licence) for s in own)


def licence_of(stanzas: list[Declared], path: str) -> str:
    """Return the licence of one file: the last matching stanza applies."""
    for stanza in reversed(stanzas):
        if any(fnmatch.fnmatchcase(path, p.removeprefix("./")) for p in stanza.patterns):
            return stanza.licence
    return ""


_OTHER = re.compile(
    r"GNU (?:Lesser |Affero )?General Public License|Mozilla Public License|Commons Clause|Server Side Public",
    re.IGNORECASE,
)
_TEXTS = {
    "Apache-2.0": r"Apache License,? Version 2\.0",
    "MIT": r"Permission is hereby granted, free of charge, to any person obtaining a copy of this software and",
    "ISC": r"Permission to use, copy, modify, and/?(?:or )?distribute this software for any purpose",
    "BSL-1.0": r"Boost Software License - Version 1\.0",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms.*Neither the names? of",
    "BSD-2-Clause": r"Redistribution and use in source and binary forms",
}


def licence_of_text(text: str) -> str:
    """Return the first permissive licence that a text contains, "" if there is none or also another kind of licence."""
    words = " ".join(text.split())
    places = {name: found.start() for name, p in _TEXTS.items() if (found := re.search(p, words, re.IGNORECASE))}
    return "" if _OTHER.search(words) or not places else min(places, key=lambda name: places[name])


def main_licence(stanzas: list[Declared]) -> str:
    """Return the main licence of a package: that of most patterns, the first one on a tie."""
    own = [s.licence for s in stanzas if not all(p.startswith("debian/") for p in s.patterns)]
    return ", ".join(dict.fromkeys(own))
