"""Query parsing: extracts search terms, names, paths and topics from a question.

Pure functions of the text.  Later stages check the names against the workspace.

A long question, such as a bug report, is split into title, prose and code.  A question in another human language is
translated by the service "translation" if it is installed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import STOP_WORDS, find_words, tokenize
from promptls.util.entry_points import service

MIN_CONFIDENCE = 0.5
"""Share of translated words below which a warning asks for another language."""


class Translation(Struct, frozen=True):
    """A question in English terms."""

    language: str  # its code
    language_name: str  # in English
    gloss: str  # English terms in the order of the question, with everything that stays as it is
    words: tuple[str, ...]  # words of the question that may be search terms: without function words
    translated: int  # number of words that were translated
    total: int  # number of words without function words

    @property
    def confidence(self) -> float:
        """Share of the words that were translated."""
        return self.translated / self.total if self.total else 1.0


def translate(text: str) -> Translation | None:
    """Return the translation of a question; None if it is in English, or in a language that cannot be translated."""
    translator = service("translation")
    return translator(text) if translator is not None else None


PROSE_WEIGHT = 0.6
"""Weight of a term that occurs in the prose below the title, relative to 1 for a term of the title."""
CODE_WEIGHT = 0.3
"""Weight of a term that occurs only in quoted code or output."""
TITLE_SHARE = 0.7
"""Share of the title in the embedding of a report.

This and the two weights were chosen on issues of one half of 41 Python repositories; on the other half, all functions
to change are among the first ten regions in 57 % instead of 43 %.
"""
MIN_WORDS = 40
"""Minimum number of words of a message of several lines that is read as a report."""

_TEMPLATE_WORDS = frozenset(
    "a actual additional am are behavior behaviour bug build checklist checks code complete context current describe "
    "description details environment error example expected feature have how i information info is issue log logs "
    "minimal motivation os output platform possible prerequisites problem proposed question related relevant report "
    "reproduce reproducible reproduction request sample screenshots search searched solution steps stack system the "
    "this to trace traceback version versions what you your".split()
)
"""Words of the headings of issue templates."""
_ENVIRONMENT = re.compile(r"\b(environment|versions?|system info(rmation)?|platform|os|checklist|prerequisites?)\b")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s(?P<marked>.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*|__(?P<underlined>[^_]+)__:?\s*)$")
_CHECKBOX = re.compile(r"\s*[-*+]\s+\[[ xX]\]")
_FENCE = re.compile(r"\s{0,3}(?P<marker>`{3,}|~{3,})(?P<info>.*)")
_IMAGE = re.compile(r"!\[[^\]\[\n]*\]\([^()\s]*\)|<img\b[^<>]*>", re.I)
_TAG = re.compile(r"</?(?:details|summary|br|p|b|i|em|strong|kbd|sub|sup|hr|div|span|a|h[1-6])\b[^<>]*>", re.I)
_ADDRESS = re.compile(r"https?://[^\s()<>\[\]]+")
_FILE_ADDRESS = re.compile(r"https?://[^/]+/[^/]+/[^/]+/(?:-/)?(?:blob|tree|raw)/[^/]+/(?P<path>[^#?]+)")


class Report(Struct, frozen=True):
    """The parts of a long question; an ordinary question is prose without a title."""

    title: str
    prose: str
    code: str

    @property
    def text(self) -> str:
        """Return all parts."""
        return "\n".join(filter(None, (self.title, self.prose, self.code)))


def split_report(text: str) -> Report:
    """Split a long question into its parts, without the text of templates."""
    ordinary = Report("", text, "")
    if "\n" not in text.strip() or len(text.split()) < MIN_WORDS:
        return ordinary
    title = ""
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    in_environment = False
    for line in _without_comments(text).split("\n"):
        marked = _FENCE.match(line)
        if fence:
            if marked and marked["marker"].startswith(fence) and not marked["info"].strip():
                fence = ""
            elif not in_environment:
                code.append(line)
        elif marked:
            fence = marked["marker"]
        elif (heading := _heading_words(line)) and _TEMPLATE_WORDS.issuperset(heading):
            in_environment = bool(_ENVIRONMENT.search(" ".join(heading)))
        elif heading or not (in_environment or _CHECKBOX.match(line)):
            in_environment = False
            if clean := _clean(line):
                if title:
                    prose.append(clean)
                title = title or clean
    return Report(title, "\n".join(prose), "\n".join(code)) if title else ordinary


def _heading_words(line: str) -> list[str]:
    """Return the words of a heading, or of a line in bold."""
    match = _HEADING.match(line)
    words = next(filter(None, match.groups()), "") if match else ""
    return re.findall(r"\w+", words.lower())


def _clean(line: str) -> str:
    """Return a line without images, tags and addresses; the address of a file in a repository becomes its path."""
    line = _IMAGE.sub(" ", line)
    line = _ADDRESS.sub(lambda match: _path_of(match[0]), line)
    return _TAG.sub(" ", line).strip()


def _path_of(address: str) -> str:
    match = _FILE_ADDRESS.match(address)
    return match["path"] if match else " "


def _without_comments(text: str) -> str:
    """Return the text without HTML comments, in which templates give instructions."""
    return "".join(_outside_comments(text))


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        yield text[at:start]
        end = text.find("-->", start)
        if end < 0:
            return
        at = end + len("-->")
    yield text[at:]


# ---- queries

_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([\w.:/-]{2,80})'")
# The look-behind starts each match at the beginning of a word, which keeps long words linear.
_CALL_OR_QUALIFIED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|(?<!\w)[A-Za-z_]\w*(?=\()")
_PATH = re.compile(r"(?<![\w.-])[\w.-]+(?:/[\w.-]+)+|(?<![\w-])[\w-]+\.[A-Za-z]{1,5}\b")
_TEST_TOPIC = re.compile(
    r"\b(unit|e2e|integration|regression)?[ -]?tests?\b|\bspecs?\b|\btest(ed|ing)\b|\bfixtures?\b", re.I
)
_TEST_SEARCH = re.compile(
    r"\b(is|are) there (a |an |any |some )?(\w+ ){0,2}tests?\b"
    r"|\b(do|does|did) (we|anything|any of \w+) ((have|really|even|actually|a|any) )*(check|test|verify|assert)s?\b"
    r"|\b(which|what|any|where are the|where is the|whose) (\w+ ){0,2}tests?\b"
    r"|\btests? (that|which|for|of|proving|covering|where|prove|cover|checks?|exercis\w+|pins?)\b"
    r"|\b(covered|exercised|pinned|tested|checked|proven?|verified) (by|in|anywhere)\b"
    r"|\b(unit|regression|integration) tests?\b|\b(in the|test) suite\b|\btest coverage\b",
    re.I,
)
_USE_SEARCH = re.compile(
    r"\brename\b|\b(?:usages|callers|occurrences|everywhere|affected)\b"
    r"|\b(?:who|what|which \w+) (?:\w+ )?(?:uses?|calls?|reads?|references|(?:depends?|relies|rely) on)\b"
    r"|\bwhere (?:is|are) [^.?!\n]{1,60} (?:used|called|referenced|read)\b"
    r"|\b(?:what|which|who|anything)\b[^.?!\n]{0,60}\b(?:breaks?|fails?|changes?)\b[^.?!\n]{0,40}\b(?:if|when) (?:i|we|you)\b"
    r"|\bif (?:i|we|you) (?:\w+ ){0,2}(?:remove|delete|drop|change|replace|move)\b[^.?!\n]{1,200}\b(?:what|which|who)\b"
    r"|\b(?:want|need|plan|going|like) to (?:remove|delete|drop|replace)\b",
    re.I,
)
_DOCS_TOPIC = re.compile(r"\b(docs?|documentation|readme|changelog|license|contributing|install(ation)?)\b", re.I)
MAX_SHINGLES, MAX_SHINGLE_TEXT = 40, 1500
"""Maximum number of shingles of a question, and characters that are searched for them."""
_MIN_SHINGLE_WORD = 3
_SENTENCE_END = re.compile(r"[.?!](?=\s|$)|\n|[。？！]")
_CLAUSE_START = r"(?:^|[,;:¿]\s*|\s-\s+)"
_OPEN_QUESTION = re.compile(
    _CLAUSE_START + r"(?:so |and |but |ok |okay |hi |hey |hello |please )*(?:how|why|what|where|explain|describe)\b",
    re.I,
)
"""How, why, what or where at the beginning of a clause."""
_TRANSLATED_OPEN_QUESTION = re.compile(
    _CLAUSE_START + r"(?:как|почему|зачем|что|где|cómo|por qué|qué|dónde|como|por que|o que|onde"
    r"|comment|pourquoi|qu'est|où|wie|warum|wieso|weshalb|was|wo)\b"
    r"|如何|怎|为什么|為什麼|什么|什麼|哪|どう|どこ|なぜ|何|어떻게|어디|왜|무엇",
    re.I,
)
"""The same in the languages that are translated; some of these words have another meaning in English."""


class Query(Struct, frozen=True):
    """A parsed question, the input of retrieval."""

    text: str  # the question without file mentions, in English terms if it was translated
    terms: tuple[str, ...]  # distinct search terms in order (see index.search.analyzer)
    names: tuple[str, ...]  # possible names of definitions, as written, most specific first
    paths: tuple[str, ...]  # possible paths or file names
    code_names: tuple[str, ...] = ()  # subset of `names`: written as code, or the only word of the question
    word_pairs: tuple[str, ...] = ()  # subset of `names`: two adjacent words of prose joined to one
    file_stems: tuple[str, ...] = ()  # possible file names without extension
    about_tests: bool = False
    seeks_tests: bool = False  # the expected answer is a test
    seeks_uses: bool = False  # the expected answer is where something is used, or what its change affects
    about_docs: bool = False
    is_open: bool = False  # asks how, why, what or where; the answer needs more code than that of another question
    shingles: tuple[str, ...] = ()  # of an open question: pairs of adjacent words, which are embedded separately
    phrases: tuple[str, ...] = ()  # quoted strings, unsplit
    excluded: tuple[str, ...] = ()  # search terms that the question excludes, not in `terms`
    corrected: tuple[tuple[str, str], ...] = ()  # (word as typed, name or word of the workspace)
    expanded: tuple[tuple[str, float], ...] = ()  # (term, weight below 1) added by query expansion
    title: str = ""  # first line of a report, which is embedded separately
    term_weights: tuple[tuple[str, float], ...] = ()  # terms with a weight other than 1
    translation: Translation | None = None  # of a question in another human language

    def correct(self, text: str) -> str:
        """Return a part of the question with the corrections instead of the words as typed, as it is embedded."""
        if not self.corrected:
            return text
        corrections = dict(self.corrected)
        words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, corrections))})(?!\w)", re.IGNORECASE)
        return words.sub(lambda match: corrections.get(match.group().lower(), match.group()), text)


def parse_query(text: str) -> Query:
    """Return the query for a question; one in another human language is translated, and its own words are terms too."""
    report = split_report(text)
    translation = translate(report.text)
    if translation is None:
        return _with_kind(_parse(report), _is_open(text, _OPEN_QUESTION))
    query = _parse(_translated(report) if report.title else Report("", translation.gloss, ""))
    terms = _merge(query.terms, map(tuple, map(tokenize, translation.words)))
    query = replace(query, terms=terms, phrases=_merge(query.phrases, [_quoted(text)]), translation=translation)
    return _with_kind(query, _is_open(text, _TRANSLATED_OPEN_QUESTION))


def _with_kind(query: Query, is_open: bool) -> Query:
    """Return a query with the fields that depend on the kind of question."""
    return replace(query, is_open=is_open, shingles=_shingles(query.text) if is_open else ())


def _shingles(text: str) -> tuple[str, ...]:
    """Return the distinct pairs of adjacent words, without stop words and short words; a single word is one shingle."""
    words = [
        word
        for word in find_words(text[:MAX_SHINGLE_TEXT])
        if len(word) >= _MIN_SHINGLE_WORD and word.lower() not in STOP_WORDS
    ]
    pairs = (" ".join(words[i : i + 2]) for i in range(max(1, len(words) - 1)))
    return tuple(dict.fromkeys(filter(None, pairs)))[:MAX_SHINGLES]


def _is_open(text: str, open_question: re.Pattern[str]) -> bool:
    """Return whether the first sentence of a question in one line asks an open question; more lines are a report or a log."""
    sentence, *_ = _SENTENCE_END.split(text.strip(), maxsplit=1)
    return open_question.search(sentence) is not None and "\n" not in text.strip()


def _translated(report: Report) -> Report:
    """Return a report with its title and prose in English terms."""
    parts = (translate(part) for part in (report.title, report.prose))
    title, prose = (t.gloss if t is not None else "" for t in parts)
    return Report(title or report.title, prose or report.prose, report.code)


def _parse(report: Report) -> Query:
    text = report.text
    words_ = find_words(text)
    term_counts = Counter(tokenize(text))
    spelled, pairs = tuple(dict.fromkeys(_code_names(text, words_))), tuple(dict.fromkeys(_word_pairs(words_)))
    return Query(
        text=text,
        terms=tuple(term_counts),
        names=tuple(dict.fromkeys([*spelled, *pairs, *_long_words(words_)])),
        code_names=spelled,
        word_pairs=pairs,
        paths=tuple(dict.fromkeys(_PATH.findall(text))),
        file_stems=tuple(dict.fromkeys(w for w in words_ if len(w) > 3 and w.lower() not in STOP_WORDS)),
        phrases=_quoted(text),
        about_tests=bool(_TEST_TOPIC.search(text)),
        seeks_tests=bool(_TEST_SEARCH.search(text)),
        seeks_uses=bool(_USE_SEARCH.search(text)),
        about_docs=bool(_DOCS_TOPIC.search(text)),
        title=report.title,
        term_weights=tuple(_term_weights(report)) if report.title else (),
    )


def _term_weights(report: Report) -> Iterable[tuple[str, float]]:
    """Yield the terms that do not occur in the title of a report, with their weights."""
    title, prose = set(tokenize(report.title)), set(tokenize(report.prose))
    yield from ((term, PROSE_WEIGHT) for term in sorted(prose - title))
    yield from ((term, CODE_WEIGHT) for term in sorted(set(tokenize(report.code)) - prose - title))


def exclude_words(query: Query, excluded_words: Iterable[str]) -> Query:
    """Return the query without the terms and names of these words, unless no term would remain."""
    excluded_terms = {term for word in excluded_words for term in tokenize(word)}
    terms_ = tuple(t for t in query.terms if t not in excluded_terms)
    if not excluded_terms or not terms_:
        return query
    lower = {word.lower() for word in excluded_words}
    return replace(
        query,
        terms=terms_,
        names=tuple(n for n in query.names if n.lower() not in lower),
        code_names=tuple(n for n in query.code_names if n.lower() not in lower),
        word_pairs=tuple(n for n in query.word_pairs if n.lower() not in lower),
        file_stems=tuple(s for s in query.file_stems if s.lower() not in lower),
        excluded=tuple(t for t in query.terms if t in excluded_terms),
    )


def _merge(first: tuple[str, ...], more: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *(word for words_ in more for word in words_)]))


def is_identifier_style(word: str) -> bool:
    """Return true for words in identifier style: snake_case, camelCase, CONSTANT or with digits."""
    return bool(
        "_" in word.strip("_") or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d", word) or word.startswith("_")
    )


def _quoted(text: str) -> tuple[str, ...]:
    """Return the distinct strings in quotes or back quotes."""
    return tuple(dict.fromkeys(next(g for g in groups if g) for groups in _QUOTED.findall(text)))


def _code_names(text: str, words_: list[str]) -> list[str]:
    """Return names written as code: quoted or qualified names, identifiers, or the only word of the question."""
    exact = [q.strip("()") for q in _quoted(text) if re.fullmatch(r"[\w.:>-]+(\(\))?", q)]
    exact += _CALL_OR_QUALIFIED.findall(text)
    exact += [w for w in words_ if is_identifier_style(w)]
    return exact or (words_ if len(words_) == 1 else [])


def _word_pairs(words_: list[str]) -> list[str]:
    """Join adjacent words of prose: "apply discount" may be applyDiscount or apply_discount."""
    prose = _prose_words(words_)
    return [f"{a}{joiner}{b}" for joiner in ("", "_") for a, b in pairwise(prose)]


def _long_words(words_: list[str]) -> list[str]:
    """Return words of prose that may name a definition: long or capitalized words."""
    return [w for w in _prose_words(words_) if len(w) > 6 or w[0].isupper()]


def _prose_words(words_: list[str]) -> list[str]:
    return [w for w in words_ if w.lower() not in STOP_WORDS and not is_identifier_style(w)]
