r"""Spellings of qualified names: `Stack<T>::push`, `(*Server).Serve`, `$this->total`, `App\Models\User`, `save!/1`.

Outlines qualify names with dots and without type arguments.  The separators, prefixes and suffixes that languages
write instead are fields of their descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from promptls.graph.resolution.file_tables import SELF_NAMES, SUPER_NAMES
from promptls.languages import LANGUAGES
from promptls.mentions.syntax.token import group_end

_SEPARATORS = {"::", ".", "#", "?.", "!."} | {
    separator
    for language in LANGUAGES.values()
    for separator in (*language.name_separators, *(("->", "\\") if language.arrow_members else ()))
}
_SEPARATOR = re.compile("|".join(re.escape(separator) for separator in sorted(_SEPARATORS, key=len, reverse=True)))

_ROOT_NAMES = frozenset(name for language in LANGUAGES.values() for name in language.root_names)
_RECEIVERS = SELF_NAMES | SUPER_NAMES | {name for language in LANGUAGES.values() for name in language.self_names}

_SUFFIXES = {
    re.compile(f"(?:{language.name_suffix})$"): frozenset({name})
    for name, language in LANGUAGES.items()
    if language.name_suffix
}
"""Suffix → languages that write it."""

_PREFIXES = sorted({prefix for language in LANGUAGES.values() for prefix in language.name_prefixes}, key=len)
_OPERATOR = re.compile(r"operator\s*(?=[^\w\s])")
_POINTER = "*& "
_GROUP_OPENERS = "<([{"


class Spelling(Struct, frozen=True):
    """A qualified name in the form of an outline."""

    name: str
    without_receiver: bool = False  # "self.total" was written, and nothing is known of the type
    languages: frozenset[str] = frozenset()  # only languages that are spelled like this; empty for any


def spellings(target: str) -> Iterator[Spelling]:
    """Yield a qualified name as written, then as an outline would spell it, most literal first."""
    yield Spelling(target)
    seen = {target}
    parts = [part for part in _SEPARATOR.split(_without_arguments(target)) if part and part != "prototype"]
    without_receiver = False
    while len(parts) > 1 and (parts[0] in _ROOT_NAMES or parts[0] in _RECEIVERS):
        without_receiver = without_receiver or parts[0] not in _ROOT_NAMES
        del parts[0]
    if not parts:
        return
    *owners, last = parts
    for name, languages in _forms(last, owners[-1] if owners else ""):
        spelled = ".".join((*owners, name))
        if name and spelled not in seen:
            seen.add(spelled)
            yield Spelling(spelled, without_receiver, languages)


def _forms(name: str, owner: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the forms of the last name, without or with what a language writes before or behind it, and the languages."""
    everywhere: frozenset[str] = frozenset()
    yield name, everywhere
    for suffix, languages in _SUFFIXES.items():
        yield suffix.sub("", name), languages
    yield _OPERATOR.sub("", name), everywhere
    if name.startswith(f"_{owner}__"):
        yield name[len(owner) + 1 :], everywhere  # Python mangles the names of private attributes
    for prefix in _PREFIXES:
        yield name[len(prefix) :] if name.startswith(prefix) else prefix + name, everywhere


def _without_arguments(name: str) -> str:
    """Return a name without type arguments, parameters and the brackets around a receiver."""
    kept: list[str] = []
    i = 0
    while i < len(name):
        end = group_end(name, i) if name[i] in _GROUP_OPENERS[:3] else -1
        if end < 0:
            kept.append(name[i])
            i += 1
            continue
        if not kept and end < len(name):
            # "(*Server).Serve" and "<Stack<T> as Drop>::drop"
            kept.append(_without_arguments(name[i + 1 : end - 1].partition(" as ")[0].strip(_POINTER)))
        elif not kept or not (kept[-1].isalnum() or kept[-1] in "_:$!?"):
            kept.append(name[i:end])
        i = end
    return "".join(kept).strip(_POINTER if len(name) > 2 and name[-1].isalnum() else " ")
