"""Names in a question whose places are looked up.

Names are those that are written as code or as a flag, mentioned symbols, and the existing feature that a request compares
a new one with: "like the LinkTaco integration".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from msgspec import Struct

from promptls.index import STOP_WORDS, split_identifier
from promptls.retrieval.query import Query, is_identifier_style

NameKind = Literal["sibling", "mention", "name"]

MIN_CHARACTERS = 4
"""Minimum number of letters and digits of a name."""
MAX_SIBLING_WORDS, MAX_CHARACTERS = 4, 5_000
"""Maximum number of words of the name of a feature, and of characters of a question that are searched for names."""


class Name(Struct, frozen=True):
    """A name of a question; of a sibling, the alternatives with fewer words."""

    spellings: tuple[str, ...]
    kind: NameKind


def question_names(text: str, query: Query, mentioned: Iterable[str] = ()) -> Iterator[Name]:
    """Yield the names of a question, those of compared features first.

    Args:
        text: The question.
        query: The same, parsed.
        mentioned: Qualified names of mentioned symbols.
    """
    seen: set[str] = set()

    def is_new(name: str) -> bool:
        key = "".join(split_identifier(name))
        known = key in seen
        seen.add(key)
        return not known and len(key) >= MIN_CHARACTERS

    text = text[:MAX_CHARACTERS]
    for match in chain(_COMPARED.finditer(text), _MODEL.finditer(text)):
        words = _SIBLING_END.sub("", next(filter(None, match.groups())).strip(" -`'\"@#")).split()[:MAX_SIBLING_WORDS]
        spellings = [" ".join(words[:n]).strip("-`'\"@#") for n in range(len(words), 0, -1)]
        spellings = [s for s in spellings if s.lower() not in STOP_WORDS and is_new(s)]
        if spellings:
            yield Name(tuple(spellings), "sibling")
    for name in mentioned:
        if is_new(last := name.rpartition(".")[2]):
            yield Name((last,), "mention")
    flags = [match[1] for match in _FLAG.finditer(text)]
    is_addition = _ADDITION.search(text) is not None
    styled = _styled(text) if is_addition else ()
    for name in (*styled, *(re.split(r"\.|::|->", name)[-1] for name in query.code_names), *flags):
        if is_new(name):
            yield Name((name,), "sibling" if is_addition else "name")


def _styled(text: str) -> Iterator[str]:
    """Yield names of prose: quoted, capitalized or hyphenated; the first word of a sentence only if it is the subject."""
    for match in _STYLED.finditer(text):
        is_first = match[3] is not None and _SENTENCE_START.search(text, max(0, match.start() - 5), match.start())
        name = next(filter(None, match.groups())).strip(" -`'\"@#:")
        if name.lower() not in STOP_WORDS and (
            not is_first or is_identifier_style(name) or _SUBJECT.match(text, match.end())
        ):
            yield name


# ---------------------------------------------------------------- phrases


def _any(*phrases: str) -> str:
    return f"(?:{'|'.join(phrases)})"


_FLAG = re.compile(r"(?<![\w-])--?([a-z][\w-]{3,})")
_QUOTED = r"\"([^\"\n]{3,60})\"|`([^`\n]{3,60})`"
_MODEL_NOUN = _any(*"template model pattern blueprint precedent example basis reference".split(), "starting point")
_ARTICLES = _any(
    *"the an? our what for with existing others? ones? like der die das dem bei beim el la los le les pour".split(),
    *(r"e\.g\.", "it was done for", "we do for"),
)
_PRONOUNS = _any(*"it this that there and but so what why how which the an? our your take use".split())

_COMPARED = re.compile(
    _any(
        r"(?<!would )(?<!'d )(?<!\bi )\b"
        + _any(
            *("like", "similar to", "akin to", "comparable to", "analogous to", "next to", "parallel to", "mirror"),
            *("equivalent (?:to|of)", "counterpart (?:to|of)", "copy of", r"model(?:l)?ed (?:on|after)", "inspired by"),
            *("along the lines of", "in the (?:style|spirit|fashion) of", "the way we (?:did|do|handled?)"),
            *(r"same (?:\w+ )?(?:as|way(?: as)?)", r"as (?:happens|is the case|it is done)(?: with| for| in)?"),
            "(?:basically|exactly|just|pretty much|more or less|roughly|essentially) what",
        )
        + r"\b(?! (?:to|that|this|it|so|if|when)\b)",
        r"\b(?:wie|analog zu|como|igual que|comme|(?:modèle|principe) (?:de|que))"
        r"(?= (?:der|die|das|bei|dem|el|la|los|le|les|pour|[`\"A-Z]))",
    )
    + rf"[\s(]*(?:{_ARTICLES}\s+)*(?:{_QUOTED}|([^.,;:()?!\n]{{3,80}}))",
    re.I,
)
"""Words that introduce an existing feature, and its name: "basically what zen mode is"."""

_MODEL = re.compile(
    rf"(?:{_QUOTED}|\b(?!{_PRONOUNS}\b)((?:[\w+#-]{{1,30}} ){{0,2}}[\w+#.-]{{1,40}}))(?: \([^()\n]{{1,40}}\))? "
    + _any(
        "already (?:has|does|works|supports)",
        "(?:already|would be|could be|might be|is|was|has|does|works)"
        rf" (?:[\w-]+ ){{0,4}}?(?:already|same|recently|{_MODEL_NOUN})",
        f"as an? {_MODEL_NOUN}",
    )
    + r"\b",
    re.I,
)
"""The name of an existing feature, and words that make it a model: "the packet diagram would be a good template"."""

_SIBLING_END = re.compile(
    r"(?:\s+(?:ones?|does|do|works?|has|is|was|are|already|today|otherwise|so|but|and|in|on|to|for|with|which|that|existing|here)"
    r"|[\s-]+(?:field|integration|provider|plugin|module|service|command|flag|package|button|badge|table|event))\b.*",
    re.I | re.S,
)

_ADDITION = re.compile(
    _any(
        r"\badd(?:ing)? (?:an?|another|one|new|more|some|support)\b",
        r"\b(?:an?|any|some) (?:new|additional|extra|further|custom|second)\b",
        r"\b(?:another|one more|support for|there should be|feature (?:idea|request))\b",
        r"\b(?:let's|could (?:we|you)|can (?:we|you)) (?:get|have|add)\b",
        r"\b(?:want|need|love|wanted) (?:an?|to add|to have) ",
        r"\b(?:where|what|which)\b[^.?!\n]{0,80}\b(?:touch\w*|hook\w*|register\w*|added?|edit|needs? an entry)\b",
        r"\b(?:neue[rnms]?|weitere[rnms]?|noch ein\w*|einbauen|hinzufügen)\b",
        r"\b(?:añadir|agregar?|otr[ao]|nuev[ao]|ajouter|nouve\w+|adicionar|nov[ao])\b",
        "добав|增加|添加|新的|支持",
    ),
    re.I,
)
"""Words of a request for something new."""

_STYLED = re.compile(
    rf"{_QUOTED}|(?<![\w.-])([A-Z][\w+#-]*\w(?: [A-Z][\w-]*\w)*|[a-z][a-z0-9]+(?:-[a-z0-9]+)+)(?![\w-])"
)
"""Words in quotes, capitalized words, and words joined by hyphens."""
_SENTENCE_START = re.compile(r"(?:^|[.?!\n]\s+)\W*$")
_SUBJECT = re.compile(r" (?:already|is|was|has|does|lives|exists|works|gets|can)\b")
