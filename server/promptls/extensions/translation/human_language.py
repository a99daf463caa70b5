"""Detection of the human language of a question: by script, or by function words for languages in Latin script.

Code does not count: blocks and quotations of code are removed, and an identifier is not a function word.
English wins in doubt, because a question that is translated by mistake loses its own words.
"""

from __future__ import annotations

import re
from functools import cache

from promptls.extensions.translation.glossary import english_terms, fold, function_words, glossary, stem

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
