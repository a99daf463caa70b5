"""Translation of a question into English terms, word by word.

Scripts without spaces, and Korean, are segmented by the longest forms of the glossary.  Words of other languages match
by stem; German compounds are split.  What is not prose (identifiers, paths, code) stays as it is.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from promptls.extensions.translation.glossary import (
    LANGUAGES,
    Glossary,
    english_terms,
    fold,
    function_words,
    glossary,
    simplified,
    stem,
)
from promptls.extensions.translation.human_language import CODE, detect_language
from promptls.index import STOP_WORDS
from promptls.retrieval.query import Translation

MAX_TRANSLATED = 20_000
"""Maximum number of characters that are translated; the rest of a message stays as it is."""

_UNSPACED = r"\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f"
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_TOKEN = re.compile(
    rf"(?P<code>{CODE.pattern}|[A-Za-z0-9_.\\/:@#$-]*[A-Za-z_][A-Za-z0-9_]*[\\/_.:@#$(][A-Za-z0-9_\\/.:@#$()-]*"
    rf"[A-Za-z0-9_]|{_LETTER}*\d[A-Za-z0-9_]*)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTER}+(?:[-'’]{_LETTER}+)*)",
    re.DOTALL,
)
_CAMEL_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2}")
_PUNCTUATION = str.maketrans(
    {
        "，": ", ",
        "。": ". ",
        "？": "? ",
        "！": "! ",
        "：": ": ",
        "；": "; ",
        "、": ", ",
        "（": " (",
        "）": ") ",
        "　": " ",
    }
    | dict.fromkeys("「」『』“”", '"')
    | dict.fromkeys("¿¡", "")
)
_LINKING = ("", "s", "es", "n", "en", "er", "e")
"""Linking elements between the parts of a German compound."""
_MIN_COMPOUND, _MAX_COMPOUND, _MIN_PART, _MIN_MAIN_PART = 7, 40, 3, 5
_KANA_ONLY = re.compile(r"[\u3041-\u309f]+")


@lru_cache(maxsize=64)
def translate(text: str) -> Translation | None:
    """Return the translation of a question, or None for English, for other languages and if no word is known."""
    language = detect_language(text)
    if not language:
        return None
    result = _Gloss(language)
    result.add(text[:MAX_TRANSLATED])
    if not result.translated:
        return None
    gloss = " ".join("".join(result.pieces).split(" ")) + text[MAX_TRANSLATED:]
    gloss = re.sub(r" {2,}", " ", gloss).strip()
    words = tuple(dict.fromkeys(result.words))
    return Translation(language, LANGUAGES[language], gloss, words, result.translated, result.total)


class _Gloss:
    """Collects the translation of one text."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.pieces: list[str] = []
        self.words: list[str] = []
        self.translated = self.total = 0
        self._glossary = glossary(language)

    def add(self, text: str) -> None:
        """Translate a text; what is between its words stays as it is."""
        tokens = list(_TOKEN.finditer(text))
        end = index = 0
        while index < len(tokens):
            token = tokens[index]
            self.pieces.append(text[end : token.start()].translate(_PUNCTUATION))
            count = 1
            if token["code"] or _CAMEL_CASE.search(token.group()):
                self.pieces.append(token.group())
            elif token["unspaced"]:
                following = tokens[index + 1]["unspaced"] if index + 1 < len(tokens) else ""
                count = self._add_spaced_phrase(token.group(), following or "")
            elif self.language in ("zh", "ja", "ko"):
                self.pieces.append(token.group())
            else:
                count = self._add_words([t.group() for t in tokens[index : index + self._glossary.longest]])
            index += count
            end = tokens[index - 1].end()
        self.pieces.append(text[end:].translate(_PUNCTUATION))

    def _count(self, word: str, terms: tuple[str, ...]) -> None:
        """Add a word of the question with its English terms, () if it is unknown."""
        self.total += 1
        self.translated += bool(terms)
        if word.lower() not in self._glossary.function_words and not (terms and STOP_WORDS.issuperset(terms)):
            self.words.append(word)
        self.pieces.append(f" {' '.join(terms)} ")

    # ------------------------------------------------------------ words between spaces

    def _add_words(self, words: list[str]) -> int:
        """Add the longest phrase of the glossary at the first of these words; return its number of words."""
        known = self._glossary
        folded, stems = [fold(w) for w in words], [stem(w, self.language) for w in words]
        for count in range(len(words), 1, -1):
            terms = known.exact.get(" ".join(folded[:count])) or known.stemmed.get(" ".join(stems[:count]))
            if terms:
                self._count(" ".join(words[:count]), terms)
                return count
        word = words[0]
        elided, apostrophe, rest = word.replace("’", "'").partition("'")
        if apostrophe and fold(elided) in known.function_words:
            return self._add_words([rest])
        lower = word.lower()
        is_function_word = lower in known.function_words or folded[0] in known.function_words
        if folded[0] in known.exact and (lower in known.spelled or not is_function_word):
            self._count(word, known.exact[folded[0]])
        elif not is_function_word and lower not in function_words("english"):
            terms = known.stemmed.get(stems[0]) or known.stemmed.get(stem(folded[0], self.language)) or ()
            if not terms and self.language == "de":
                terms = _split_compound(folded[0].replace("-", ""))
            if not terms and "-" in word:
                for part in word.split("-"):
                    self._add_words([part])
                    self.pieces.append(" ")
                return 1
            if not terms and word.isascii():  # a name or a loanword: it counts as it is
                self.pieces.append(word)
                self.words.append(word)
                self.total += 1
                self.translated += lower in english_terms()
            else:
                self._count(word, terms)
        return 1

    # ------------------------------------------------------------ scripts without spaces

    def _add_spaced_phrase(self, run: str, following: str) -> int:
        """Add a Korean phrase of two words, or else the first of these runs; return the number of runs."""
        phrase = f"{run} {_without_particle(following)}"
        if self.language == "ko" and phrase in self._glossary.exact:
            self._count(phrase, self._glossary.exact[phrase])
            return 2
        self._add_unspaced(run)
        return 1

    def _add_unspaced(self, run: str) -> None:
        """Add a run of letters without spaces, segmented from left to right by the longest known forms."""
        known, start, unknown, written = self._glossary, 0, "", run
        if self.language == "zh":
            run = run.translate(simplified())  # character by character, so that positions stay
        if self.language == "ko":
            bare = _without_particle(run)
            for form in (run, bare):
                if form in known.exact or form in known.function_words:
                    self._add_segment(form, known, form)
                    return
        shortest = 2 if self.language == "ko" else 1
        while start < len(run):
            for length in range(min(known.longest, len(run) - start), shortest - 1, -1):
                form = run[start : start + length]
                if form in known.exact or form in known.function_words:
                    break
            else:
                unknown, start = unknown + written[start], start + 1
                continue
            self._add_unknown(unknown, is_particle=start > len(unknown))
            self._add_segment(form, known, written[start : start + length])
            unknown, start = "", start + length
        self._add_unknown(unknown, is_particle=start > len(unknown))

    def _add_segment(self, form: str, known: Glossary, written: str) -> None:
        if form in known.exact:
            self._count(written, known.exact[form])
        else:
            self.pieces.append(" ")

    def _add_unknown(self, part: str, is_particle: bool) -> None:
        """Add characters between known forms; in Japanese and Korean, most of them are endings and particles."""
        self.pieces.append(" ")
        if not part or _KANA_ONLY.fullmatch(part) or (self.language == "ko" and (is_particle or len(part) < 2)):
            return
        if self.language == "zh" and len(part) < 2:
            return
        self.words.append(part)
        self.total += 1


@cache
def _particles() -> tuple[str, ...]:
    return tuple(sorted(function_words("ko_particles"), key=len, reverse=True))


def _without_particle(word: str) -> str:
    """Return a Korean word without its last particle."""
    found = next((p for p in _particles() if word.endswith(p) and len(word) > len(p)), "")
    return word[: len(word) - len(found)]


@lru_cache(maxsize=1 << 10)
def _split_compound(word: str) -> tuple[str, ...]:
    """Return the English terms of the parts of a German compound; of its longest known part if others are unknown."""
    if not _MIN_COMPOUND <= len(word) <= _MAX_COMPOUND:
        return ()
    best: list[tuple[str, ...] | None] = [()] + [None] * len(word)
    for end in range(_MIN_PART, len(word) + 1):
        for start in range(end - _MIN_PART + 1):  # the longest part first
            before = best[start]
            terms = _compound_part(word[start:end], is_last=end == len(word)) if before is not None else ()
            if before is not None and terms:
                best[end] = (*before, *terms)
                break
    if not best[-1]:
        first = max((end for end in range(_MIN_MAIN_PART, len(word)) if best[end]), default=0)
        last = next((i for i in range(1, len(word) - _MIN_MAIN_PART + 1) if _compound_part(word[i:], True)), len(word))
        best[-1] = best[first] if first >= len(word) - last else _compound_part(word[last:], True)
    return tuple(dict.fromkeys(best[-1] or ()))


def _compound_part(part: str, is_last: bool) -> tuple[str, ...]:
    """Return the English terms of a part of a German compound, without its linking element unless it is the last."""
    known = glossary("de")
    for link in ("",) if is_last else _LINKING:
        stripped = part[: len(part) - len(link)]
        if part.endswith(link) and len(stripped) >= _MIN_PART and stripped in known.exact:
            return known.exact[stripped]
    return known.stemmed.get(stem(part, "de"), ())
