"""Translation of questions in other human languages into English search terms, word by word and offline.

glossary.tsv maps terms of programming and the words of everyday questions in eight languages to English: one row per
concept, its English terms, then the forms of each language, separated by commas.

The language is detected by script, or by function words for languages in Latin script.  Code does not count: blocks and
quotations of code are removed, and an identifier is not a function word.  English wins in doubt, because a question
that is translated by mistake loses its own words.

Scripts without spaces, and Korean, are segmented by the longest forms of the glossary.  Words of other languages match
by stem, accents aside; German compounds are split.  What is not prose (identifiers, paths, code) stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct
from py_rust_stemmers import SnowballStemmer

from promptls.index import STOP_WORDS
from promptls.util.toml import tomllib

LANGUAGES = {
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "es": "Spanish",
    "pt": "Portuguese",
    "fr": "French",
    "de": "German",
}
"""Names of the languages by their codes, in the order of the columns of glossary.tsv."""

_STEMMERS = {"ru": "russian", "es": "spanish", "pt": "portuguese", "fr": "french", "de": "german"}
_FOLDED = {ord("ß"): "ss", ord("œ"): "oe", ord("æ"): "ae"}
_UMLAUTS = {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"}
_VOWELS = "аеёиоуыэюя"
_MAX_TERMS = 4
"""Maximum number of English terms of one form; a form of several concepts collects the terms of all."""


class Glossary(Struct, frozen=True):
    """The glossary of one language."""

    exact: dict[str, tuple[str, ...]]  # English terms by form: folded, words separated by single spaces
    stemmed: dict[str, tuple[str, ...]]  # English terms by the stems of the form's words
    spelled: frozenset[str]  # forms as written, with accents
    function_words: frozenset[str]  # as written and without accents
    longest: int  # of all forms, in words; for scripts without spaces, in characters


def fold(word: str) -> str:
    """Return a word in lower case without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.lower().translate(_FOLDED))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=1 << 12)
def stem(word: str, language: str) -> str:
    """Return the stem of a word without accents; the word if the language has no stemmer."""
    stemmer = _stemmer(language)
    return fold(stemmer.stem_word(word.lower())) if stemmer is not None else word


@cache
def _stemmer(language: str) -> SnowballStemmer | None:
    return SnowballStemmer(_STEMMERS[language]) if language in _STEMMERS else None


@cache
def function_words(name: str) -> frozenset[str]:
    """Return a list of function_words.toml: those of a language by its code, or another list by its name."""
    data = tomllib.loads(files(__package__).joinpath("function_words.toml").read_text("utf-8"))
    return frozenset(data[name].split())


@cache
def glossary(language: str) -> Glossary:
    """Return the glossary of a language."""
    column = 1 + list(LANGUAGES).index(language)
    is_spaced = language in _STEMMERS
    exact: dict[str, tuple[str, ...]] = {}
    stemmed: dict[str, tuple[str, ...]] = {}
    spelled: set[str] = set()
    for row in files(__package__).joinpath("glossary.tsv").read_text("utf-8").splitlines()[1:]:
        cells = row.split("\t")
        terms = tuple(cells[0].split())
        for form in filter(None, cells[column].split(",")):
            spellings = _spellings(form, language)
            spelled |= spellings
            for spelling in spellings:
                _add(exact, fold(spelling) if is_spaced else spelling, terms)
                if is_spaced:
                    parts = spelling.split()
                    _add(stemmed, " ".join(stem(word, language) for word in parts), terms)
                    _add(stemmed, " ".join(stem(fold(word), language) for word in parts), terms)
    listed = function_words(language)
    longest = max(form.count(" ") + 1 if is_spaced else len(form) for form in (*exact, *listed))
    words = listed | frozenset(map(fold, listed)) if is_spaced else listed
    return Glossary(exact, stemmed, frozenset(spelled), words, longest)


def _spellings(form: str, language: str) -> set[str]:
    """Return the spellings of a form: simplified characters, German umlauts, and Russian inflections.

    These have a stem of their own: the present tense of verbs in -овать and the genitive plural of nouns in -ка.
    """
    if language == "zh":
        return {form.translate(simplified())}
    if language == "de":
        return {form, form.translate(_UMLAUTS)}
    if language == "ru" and form.endswith("овать"):
        return {form, *(form[: -len("овать")] + ending for ending in ("ует", "уют", "уется", "уются"))}
    if language == "ru" and len(form) > 4 and form.endswith("ка") and form[-3] not in _VOWELS:
        return {form, f"{form[:-3]}ек" if form[-3] == "й" else f"{form[:-2]}{'ек' if form[-3] in 'жшч' else 'ок'}"}
    return {form}


def _add(table: dict[str, tuple[str, ...]], key: str, terms: tuple[str, ...]) -> None:
    table[key] = tuple(dict.fromkeys((*table.get(key, ()), *terms)))[:_MAX_TERMS]


@cache
def simplified() -> dict[int, str]:
    """Return the simplified Chinese character by the code point of the traditional one, for the glossary's characters."""
    pairs = files(__package__).joinpath("traditional.txt").read_text("utf-8").split()
    return {ord(pair[0]): pair[1] for pair in pairs}


@cache
def english_terms() -> frozenset[str]:
    """Return the English words of the glossary and the English function words."""
    rows = files(__package__).joinpath("glossary.tsv").read_text("utf-8").splitlines()[1:]
    return function_words("english").union(*(row.split("\t")[0].split() for row in rows))


LATIN = ("es", "pt", "fr", "de")
MAX_CHARACTERS = 4000
"""Maximum number of characters that are examined; the language of a question shows in its beginning."""

CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_LITERAL = re.compile(r"\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,200}'(?!\w)")
_WORD = re.compile(r"(?<![\w./\\@#$:<-])[^\W\d_]+(?:['’][^\W\d_]+)?(?![\w/\\@(=]|[.:][\w/])")
_KANA, _HAN = re.compile(r"[\u3041-\u30ff\uff66-\uff9f]"), re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL, _CYRILLIC = re.compile(r"[\uac00-\ud7a3]"), re.compile(r"[\u0400-\u04ff]+")
_OWN_LETTERS = {"es": "ñ¿¡", "pt": "ãõ", "fr": "œ", "de": "ß"}

_MIN_SHARE = 0.15
"""Share of function words among the words; it is .3 to .5 in prose of these languages."""
_MIN_KNOWN_SHARE = 0.4
"""Share of words of the glossary and function words, if a short question has only one distinct function word."""


def detect_language(text: str) -> str:
    """Return the code of the language of a question; "" for English and all languages without a glossary."""
    prose = CODE.sub(" ", text[:MAX_CHARACTERS])
    if not prose.isascii():
        prose = _LITERAL.sub(" ", prose) or prose
    words = [word.lower().replace("’", "'") for word in _WORD.findall(prose)]
    english = sum(word in function_words("english") for word in words)
    if not prose.isascii() and (language := _by_script(prose, english)):
        return language
    return _by_function_words(prose, words)


def _by_script(prose: str, english: int) -> str:
    """Return the language of most words, if it shows in the script; `english` counts English function words."""
    kana, han, hangul = len(_KANA.findall(prose)), len(_HAN.findall(prose)), len(_HANGUL.findall(prose))
    cyrillic = sum(len(run) > 1 for run in _CYRILLIC.findall(prose))
    counts = {"ko": hangul / 2, "ru": float(cyrillic), "ja" if 8 * kana >= han and kana else "zh": (kana + han) / 2}
    language = max(counts, key=lambda name: counts[name])
    return language if counts[language] >= max(1, english) else ""


@cache
def _distinctive(language: str) -> frozenset[str]:
    """Return the function words of a language that are not English words, also without accents."""
    words = function_words(language)
    return (
        (words | frozenset(map(fold, words))) - english_terms() - frozenset("c d j l m n s t y e o u os el la".split())
    )


def _by_function_words(prose: str, words: list[str]) -> str:
    """Return the language with most function words and known words, if they are enough and more than English ones."""
    parts = [part for word in words for part in word.split("'")]
    found = {language: [w for w in parts if w in _distinctive(language)] for language in LATIN}
    if prose.isascii() and not any(found.values()):
        return ""
    known = {language: sum(_is_known(w, language) for w in set(parts) - english_terms()) for language in LATIN}
    scores = {
        language: 2 * len(set(found[language])) + known[language] + any(c in prose for c in _OWN_LETTERS[language])
        for language in LATIN
    }
    language = max(scores, key=lambda name: scores[name])
    count, distinct = len(found[language]), len(set(found[language]))
    english = sum(w in function_words("english") and w not in function_words(language) for w in parts)
    if english and count <= english:
        return ""
    if distinct > 1:
        return language if count >= _MIN_SHARE * len(parts) else ""
    is_mostly_known = count + known[language] >= max(2, _MIN_KNOWN_SHARE * len(parts))
    return language if is_mostly_known and (distinct or not prose.isascii()) else ""


def _is_known(word: str, language: str) -> bool:
    forms = glossary(language)
    return fold(word) in forms.exact or stem(word, language) in forms.stemmed


MIN_CONFIDENCE = 0.5
"""Share of translated words below which a warning asks for another language."""
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


class Translation(Struct, frozen=True):
    """A question in English terms."""

    language: str  # its code
    gloss: str  # English terms in the order of the question, with everything that stays as it is
    words: tuple[str, ...]  # words of the question that may be search terms: without function words
    translated: int  # number of words that were translated
    total: int  # number of words without function words

    @property
    def confidence(self) -> float:
        """Share of the words that were translated."""
        return self.translated / self.total if self.total else 1.0

    @property
    def language_name(self) -> str:
        """English name of the language."""
        return LANGUAGES[self.language]


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
    return Translation(language, gloss, tuple(dict.fromkeys(result.words)), result.translated, result.total)


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
