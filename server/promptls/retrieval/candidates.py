"""Candidate generation: selects the chunks that the ranking model scores.

Candidates are the rows of highest prior, chunks named by the question, chunks of the best files, and definitions
referenced by the best rows.  The index proposes rows; the snapshot locates their chunks and drops outdated ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import IndexReader, OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_changelog, is_test_path
from promptls.model import AnyOutline, Chunk, FileEntry, OutlineView, Span, Symbol
from promptls.retrieval.query import Query, is_identifier_style
from promptls.retrieval.scorers import FirstStageScores, Floats, Numbers, fit_scale, top_indices
from promptls.util.cancellation import check_each

# The weights of the model were fitted with exactly these patterns, so changing them requires a new training.  All other
# code uses `knowledge.project.file_kind`, which recognizes more test files.
_AUXILIARY = re.compile(
    r"(^|/)(tests?|testing|testdata|specs?|__tests__|__mocks__|examples?|samples?|demos?|docs?|vendor|third_party"
    r"|deps|locales?|fixtures?|benchmarks?|benches)(/|$)"
    r"|(^|/)(test_|conftest)[^/]*$|_test\.\w+$|_spec\.\w+$|\.(test|spec|stories|d)\.\w+$|Tests?\.(java|cs|kt|swift|scala)$"
    r"|\.(md|mdx|rst|txt|adoc|json|jsonc|ya?ml|toml|ini|cfg|html?|css|scss|less|svg|xml|csv|lock)$|(^|/)CHANGE"
)
_TEST = re.compile(
    r"(^|/)(tests?|testing|testdata|specs?|__tests__|__mocks__)(/|$)|(^|/)(test_|conftest)[^/]*$|_test\.\w+$"
    r"|_spec\.\w+$|\.(test|spec)\.\w+$|Tests?\.(java|cs|kt|swift|scala)$"
)
_DOCS = re.compile(r"\.(md|mdx|rst|txt|adoc)$|(^|/)(docs?|CHANGE\w*)(/|$)", re.I)
_TEST_TOPIC = re.compile(r"(^|/)(tests?|testing|specs?|__tests__)(/|$)|test", re.I)


class FileNameFeatures(Struct, frozen=True):
    """Features of a file that depend on its name alone."""

    is_auxiliary: bool  # tests, examples, data and documents, which rarely answer questions about code
    is_test: bool
    is_docs: bool


@lru_cache(maxsize=1 << 14)
def file_name_features(name: str) -> FileNameFeatures:
    """Return the features of a file name relative to its root; cached, because names recur in many questions."""
    return FileNameFeatures(bool(_AUXILIARY.search(name)), bool(_TEST.search(name)), bool(_DOCS.search(name)))


def is_auxiliary_for(name: str, query: Query) -> bool:
    """Return true if the file is auxiliary and the question is not about such files."""
    return file_name_features(name).is_auxiliary and not _is_topic(name, query)


def _is_topic(name: str, query: Query) -> bool:
    if query.about_tests and _TEST_TOPIC.search(name):
        return True
    if query.about_docs and _DOCS.search(name):
        return True
    return any(p.lower() in name.lower() for p in query.paths)


# ---- candidates

MAX_WHOLE_LINES = 150
"""Maximum number of lines of a function that is shown as a whole when one of its chunks is a candidate."""
MAX_NAMED_FILES = 20
"""Maximum number of files with one name that the question's mention of the name promotes."""
MAX_NAMED_DEFINITIONS = 200
"""Maximum number of definitions of one name that the question's mention of the name promotes."""
WORD_PAIR_FACTOR = 0.7
"""Weight of a name joined from two words of prose, relative to a name written as code."""
OVERSAMPLING = 4
"""Number of rows checked for the kind of their file, for each row that is selected."""
PRIOR_PENALTIES = (1.8, 2.3, 3.3)
"""Subtracted from the prior of rows in auxiliary files, tests and documents.

Fitted together with `scorers.PRIOR_WEIGHTS` by logistic regression on 150 sentences of the documentation of Python's
standard library and 188 development questions.  With the penalties, 200 rows cover what 350 rows cover without them.
"""
MAX_PLACES_PER_ROW = 20
"""Maximum number of files considered for one row; identical chunks of several files share a row."""
MAX_REFERENCED_DEFINITIONS = 3
"""Maximum number of definitions of a name for which references are followed."""

EXTENSIONS = (
    *(".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs"),
    *(".rb", ".php", ".swift", ".scala", ".lua", ".sh", ".ex", ".hs", ".ml", ".sql", ".md", ".toml"),
)
"""File extensions that are tried for names without one in a question."""


class CandidateLimits(Struct, frozen=True):
    """Maximum number of candidates by their origin."""

    prior_rows: int = 200  # rows of highest prior
    files: int = 8  # files with the most evidence
    rows_per_file: int = 12  # rows of highest prior in each of these files
    referrers: int = 20  # best rows whose references are followed

    def for_regions(self, count: int) -> CandidateLimits:
        """Return limits that suffice to select `count` regions."""
        return replace(self, prior_rows=max(self.prior_rows, ROWS_PER_REGION * count))


ROWS_PER_REGION = 3
"""Rows of highest prior per requested region; 2 would reduce coverage at 20,000 tokens by 0.013."""
SEARCH_LIMITS = CandidateLimits(prior_rows=500, files=16, rows_per_file=80, referrers=50)
"""Limits for a search; 800 rows of highest prior do not improve quality."""


class Candidate(Struct, frozen=True):
    """A chunk that may be part of the answer."""

    entry: FileEntry
    chunk_index: int  # into the outline's chunks
    row: int  # row of the index, -1 if the chunk is not indexed yet
    chunk: Chunk
    symbol: Symbol | None
    span: Span  # lines to show: the chunk, or the whole function around it
    named: float = 0.0  # 1 for the only definition of a name in the question, 1/√n for one of n
    spelled: float = 0.0  # `named`, limited to names written as code or, with less weight, as two words
    by_path: float = 0.0  # 1 for the only file of a name in the question, 1/√n for one of n


class SearchScope(Struct, frozen=True):
    """Files to which a search is restricted."""

    paths: frozenset[str]
    rows: Numbers  # rows of their chunks, ascending


def search_scope(paths: Iterable[str], snapshot: Snapshot, reader: IndexReader) -> SearchScope:
    """Return the scope of a search in these files."""
    chosen = frozenset(paths)
    outlines = filter(None, map(snapshot.outline, chosen))
    rows = {row for outline in outlines for chunk in outline.chunks if (row := reader.row_of(chunk.key)) >= 0}
    return SearchScope(chosen, np.array(sorted(rows), np.int64))


def generate_candidates(
    query: Query,
    scores: FirstStageScores,
    snapshot: Snapshot,
    reader: IndexReader,
    limits: CandidateLimits,
    scope: SearchScope | None = None,
) -> list[Candidate]:
    """Return the candidates for a question, sorted by path and chunk."""
    collector = _Collector(snapshot, reader, scope.paths if scope is not None else None)
    evident_rows, prior = scores.evident_rows, scores.prior
    if scope is not None:
        in_scope = np.zeros(len(reader), bool)
        in_scope[scope.rows] = True
        evident_rows, prior = evident_rows[in_scope[evident_rows]], prior * in_scope
    combined = scores.combined(evident_rows)
    collector.add_rows(_best_prior_rows(prior, limits.prior_rows, query, snapshot, reader))
    names = _named_definitions(query, snapshot)
    for path, symbol in names:
        collector.add_definition(path, symbol)
    paths = dict(_named_files(query, snapshot))
    for path in paths:
        collector.add_chunk(path, 0)
    for number in _best_files(scores, evident_rows, combined, reader, limits.files):
        rows = reader.file_stats.file_rows(number)
        collector.add_rows(rows[top_indices(prior[rows], limits.rows_per_file)])
    for index in evident_rows[top_indices(combined, limits.referrers)].tolist():
        collector.add_referenced(index)
    return collector.candidates(names, paths)


def _best_prior_rows(prior: Floats, count: int, query: Query, snapshot: Snapshot, reader: IndexReader) -> Numbers:
    """Return the rows of highest prior after penalties for the kind of their file.

    Only the kinds of files with high priors are checked, because a large workspace has many files.
    """
    rows = top_indices(prior, OVERSAMPLING * count)
    files, file = np.unique(reader.file_ids[rows], return_inverse=True)
    auxiliary, test, docs = PRIOR_PENALTIES
    penalty = np.zeros(len(files), np.float32)
    for i, number in enumerate(files.tolist()):
        entry = snapshot.files.get(reader.paths[number])
        if entry is not None and (features := file_name_features(entry.name)).is_auxiliary:
            penalty[i] += auxiliary * is_auxiliary_for(entry.name, query)
            penalty[i] += test * (features.is_test and not query.seeks_tests) + docs * (
                features.is_docs and not query.about_docs
            )
    return rows[top_indices(prior[rows] - penalty[file], count)]


def _best_files(
    scores: FirstStageScores, rows: Numbers, combined: Floats, reader: IndexReader, count: int
) -> list[int]:
    """Return the numbers of the files with the most evidence: best chunks, file BM25 and mean similarity."""
    top = top_indices(combined, 5 * count)
    if not len(top):
        return []
    best_scores = combined[top]
    rank = np.searchsorted(np.sort(-best_scores), -best_scores)  # tied rows share a rank
    files, file = np.unique(reader.file_ids[rows[top]], return_inverse=True)
    evidence = np.bincount(file, best_scores / (1 + 0.1 * rank))
    similarity = fit_scale(scores.file_similarity, 20).apply(scores.file_similarity[files])
    score = evidence / evidence.max() + 0.5 * scores.file_bm25[files] + 0.5 * similarity
    order = sorted(zip(np.round(-score, 5).tolist(), (reader.paths[f] for f in files), files.tolist(), strict=True))
    return [number for _, _, number in order[:count]]


class _Collector:
    """Collects the chunks for one call of `generate_candidates`."""

    def __init__(self, snapshot: Snapshot, reader: IndexReader, within: frozenset[str] | None) -> None:
        self.snapshot, self.reader, self.within = snapshot, reader, within
        self.chunks: dict[str, set[int]] = defaultdict(set)  # path → indices of chunks
        self.expected: dict[str, dict[int, bytes]] = defaultdict(dict)  # path → index → key, according to the index

    def add_rows(self, rows: Numbers) -> None:
        """Add the chunks of index rows."""
        reader, keys, within, expected = self.reader, self.reader.keys, self.within, self.expected
        for row, first in zip(rows.tolist(), reader.single_locations(rows), strict=True):
            for path, index in (first,) if first else reader.locations(row)[:MAX_PLACES_PER_ROW]:
                if within is None or path in within:
                    expected[path][index] = keys[row]

    def add_chunk(self, path: str, index: int) -> None:
        """Add a chunk of a file in the scope."""
        if self.within is None or path in self.within:
            self.chunks[path].add(index)

    def add_definition(self, path: str, symbol: int) -> None:
        """Add the first chunk of a definition."""
        outline = self.snapshot.outline(path)
        assert outline is not None
        index = outline.first_chunk_of(symbol)
        if index >= 0:
            self.add_chunk(path, index)

    def add_referenced(self, row: int) -> None:
        """Add the definitions that the code of a row references by rare names."""
        for path, index in self.reader.locations(row):
            outline = self.snapshot.outline(path)
            index = _chunk_index(outline, index, self.reader.keys[row])
            if outline is None or index < 0:
                continue
            for name in sorted(referenced_names(outline, (outline.chunks[index].span,))[0]):
                found = self.snapshot.names.get(name.lower(), ())
                if len(found) <= MAX_REFERENCED_DEFINITIONS:
                    for symbol in found:
                        self.add_definition(*symbol)
            return

    def candidates(self, names: dict[OutlineRef, tuple[float, float]], paths: dict[str, float]) -> list[Candidate]:
        """Return the candidates for the collected chunks, sorted by path and chunk."""
        out = []
        for path in sorted(self.chunks.keys() | self.expected.keys()):
            entry = self.snapshot.files.get(path)
            outline = entry.outline if entry is not None else None
            if entry is None or outline is None:
                continue
            indices = self.chunks.get(path, set())
            indices.update(_chunk_index(outline, index, key) for index, key in self.expected.get(path, {}).items())
            chunks, symbols, by_path = outline.chunks, outline.symbols, paths.get(path, 0.0)
            for index in sorted(indices):
                if not 0 <= index < len(chunks):
                    continue
                chunk = chunks[index]
                span, number = chunk.span, chunk.symbol
                symbol = symbols[number] if number >= 0 else None
                if symbol is not None and symbol.kind in _WHOLE_KINDS and len(symbol.span) <= MAX_WHOLE_LINES:
                    span = symbol.span
                named, spelled = names.get((path, number), (0.0, 0.0)) if names else (0.0, 0.0)
                out.append(
                    Candidate(entry, index, self.reader.row_of(chunk.key), chunk, symbol, span, named, spelled, by_path)
                )
        return out


def _chunk_index(outline: AnyOutline | None, index: int, key: bytes) -> int:
    """Return the index of the chunk with this key, or -1; `index` is a hint from a possibly different snapshot."""
    chunks = outline.chunks if outline is not None else ()
    if index < len(chunks) and chunks[index].key == key:
        return index
    return next((i for i, chunk in enumerate(chunks) if chunk.key == key), -1)


_WHOLE_KINDS = frozenset({"function", "method", "constructor"})


def referenced_names(outline: OutlineView, spans: Sequence[Span]) -> list[set[str]]:
    """Return the names referenced by the code in each span."""
    (used, lines), names = outline.reference_arrays(), outline.ref_names
    starts = lines.searchsorted(np.array([span.start for span in spans], np.uint32)).tolist()
    ends = lines.searchsorted(np.array([span.end for span in spans], np.uint32)).tolist()
    return [{names[n] for n in used[a:b].tolist()} for a, b in zip(starts, ends, strict=True)]


def _named_definitions(query: Query, snapshot: Snapshot) -> dict[OutlineRef, tuple[float, float]]:
    """Return the definitions that the question names, with the `named` and `spelled` values of a candidate."""
    best: dict[OutlineRef, tuple[float, float]] = {}
    for name in check_each(query.names):
        last = re.split(r"\.|::|->", name)[-1]
        matches = [ref for ref in snapshot.names.get(last.lower(), ()) if snapshot.has_symbol(ref)]
        if not matches:
            continue
        if last != name:
            qualified = "." + name.replace("::", ".").replace("->", ".").lower()
            symbols = _resolve_symbols(matches, snapshot)
            matches = [p for p, s in symbols if f".{s.qualified}".lower().endswith(qualified)] or matches
        elif is_identifier_style(name):
            matches = [p for p, s in _resolve_symbols(matches, snapshot) if s.name == name] or matches
        factor = 1.0 if name in query.code_names else WORD_PAIR_FACTOR if name in query.word_pairs else 0.0
        for ref in matches[:MAX_NAMED_DEFINITIONS]:
            match_value = len(matches) ** -0.5
            named, spelled = best.get(ref, (0.0, 0.0))
            best[ref] = max(named, match_value), max(spelled, match_value * factor)
    return best


def _resolve_symbols(refs: Iterable[OutlineRef], snapshot: Snapshot) -> Iterator[tuple[OutlineRef, Symbol]]:
    for ref in refs:
        if (symbol := snapshot.symbol(ref)) is not None:
            yield ref, symbol


def _named_files(query: Query, snapshot: Snapshot) -> Iterable[tuple[str, float]]:
    """Return the files that the question names by path, file name or stem, with the `by_path` value."""
    best: dict[str, float] = defaultdict(float)
    for name in (*query.paths, *query.file_stems):
        base = name.rsplit("/", 1)[-1].lower()
        endings = ("",) if "." in base else EXTENSIONS
        paths = [p for e in endings for p in snapshot.basenames.get(base + e, ())]
        paths = [p for p in paths if ("/" + p.lower()).endswith("/" + name.lower())] if "/" in name else paths
        for path in paths[:MAX_NAMED_FILES]:
            best[path] = max(best[path], len(paths) ** -0.5)
    return best.items()


# ---- kinds of files

# The ranking model has no feature for kinds of files.  Data rows and translations repeat words of a question, but seldom
# answer it, and build and deployment files that a question is about use other words than the question.
DATA_FACTOR = 0.1
"""Factor of the probability of data and translations that the question does not ask for."""

_DATA = re.compile(
    r"\.(csv|tsv|psv|jsonl|ndjson|geojson|topojson|dat|svg)$"
    r"|(^|/)(fixtures?|test_?data|seeds?|samples?|datasets?|data)/(.*/)?[^/]*\.(json|ya?ml|xml|txt)$",
    re.I,
)
_SQL_DATA = re.compile(r"(^|[/_.-])(seeds?|data|dump|inserts?|fixtures?|populate|samples?)([_.-]|\d|$)[^/]*$", re.I)
"""Names of SQL files whose unnamed statements are rows; elsewhere they are rows beside definitions."""

_LANGUAGE = r"(?!en\b)[a-z]{2}(?:[a-z](?=[-_]))?(?:[-_](?:r?[A-Za-z]{2}|[A-Z][a-z]{3}|\d{3})(?:[-_]\w+)?)?"
_TRANSLATION = re.compile(
    rf"(^|/)values-{_LANGUAGE}/[^/]*\.xml$"  # Android
    rf"|(^|/){_LANGUAGE}\.lproj/"  # Apple
    rf"|(^|/)(locales?|i18n|l10n|langs?|languages?|translations?|messages|po)/(.*/)?({_LANGUAGE}/.*|([^/]*[._-])?{_LANGUAGE})"
    r"\.(json5?|ya?ml|po|properties|php|toml|ftl|xml|arb|strings)$"
    rf"|[._-]{_LANGUAGE}\.(properties|resx|arb|xlf|xliff|po)$"
    r"|\.(pot?|mo)$"
)
_ASKS_FOR_DATA = re.compile(
    r"\b(seed\w*|fixtures?|samples?|inserts?|inserted|rows?|records?|csv|tsv|geojson|svg|dump|dataset\w*|test data)\b",
    re.I,
)
_ASKS_FOR_TRANSLATION = re.compile(
    r"\b(translat\w+|locali[sz]\w+|locales?|i18n|l10n|languages?|übersetz\w+|traduc\w+|traduz\w+)\b|翻译|翻訳|번역",
    re.I,
)
_ASKS_FOR_CHANGELOG = re.compile(
    r"\b(change ?logs?|release notes?|since|when (was|did|were)|versions?|releases?|deprecat\w+|migrat\w+|upgrad\w+|breaking)\b",
    re.I,
)


NAMED_KIND_FACTOR = 6
"""Factor of the odds of files of a kind that the question names.

Chosen among 3, 6 and 10 on 18 tasks with such a question: at 5,400 tokens they show 35 instead of 32 % of what is needed,
six development tasks 56 instead of 43 %.  For questions such as "which tests cover …", 116 of them from the documentation
of functions of six repositories: prompts have 72 instead of 63 % of the lines of tests that call the function.
"""

_NAMED_KINDS = (
    (
        re.compile(r"\bCI\b|\bGitHub Actions?\b|\b(?:which|what) (?:\w+ )?(?:jobs?|pipelines?|workflows?)\b", re.I),
        re.compile(
            r"(^|/)(\.github|\.gitea|\.forgejo|\.circleci|\.buildkite)/"
            r"|(^|/)(\.gitlab-ci|\.travis|\.drone|\.cirrus|\.?appveyor|azure-pipelines[^/]*)\.ya?ml$|(^|/)Jenkinsfile",
            re.I,
        ),
    ),
    (
        re.compile(r"\bdocker\w*|\b(?:helm|k8s|kubernetes|kustomize|skaffold|pods?)\b", re.I),
        re.compile(
            r"(^|/)(docker[^/]*|k8s|kubernetes[^/]*|helm[^/]*|charts?|kustomize|deploy|deployment)/"
            r"|(^|/)([^/]*dockerfile[^/]*|containerfile|(docker-)?compose[^/]*\.ya?ml|skaffold\.ya?ml)$",
            re.I,
        ),
    ),
    (
        re.compile(
            r"\b(?:gradle|cargo|cmake|makefile|maven|package\.json|pyproject|pom\.xml|gemfile|composer\.json|lint(?:er|s|ing)?"
            r"|dependenc(?:y|ies)|compil(?:e|er|ed|ing)|(?:single|one) test)\b"
            r"|\bbuild(?:s|ing)? (?:the |from |a )?(?:\w+ )?(?:project|binary|binaries|image|package|wheels?|docs|release|sources?|installer)\b",
            re.I,
        ),
        re.compile(
            r"(^|/)(package\.json|pyproject\.toml|setup\.(py|cfg)|tox\.ini|noxfile\.py|cargo\.toml|go\.mod|pom\.xml|(GNU)?makefile"
            r"|(build|settings)\.gradle(\.kts)?|cmakelists\.txt|meson\.build|composer\.json|gemfile|rakefile|mix\.exs"
            r"|package\.swift|(just|task)file(\.ya?ml)?|[^/]*\.(csproj|props|cmake|gemspec|nix)|contributing\.\w+)$",
            re.I,
        ),
    ),
)
"""Words of a question → the files that they name: CI, deployment, build."""


def adjust_by_kind(scores: NDArray[np.float64], query: Query, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Return float64[n]: probabilities, lower for unwanted data and higher for kinds of files that the question names."""
    scores = scores * _data_factors(query, candidates)
    paths = [files for words, files in _NAMED_KINDS if words.search(query.text)]
    if not paths and not query.seeks_tests:
        return scores
    names = [candidate.entry.name for candidate in candidates]
    named = [any(files.search(name) for files in paths) or (query.seeks_tests and is_test_path(name)) for name in names]
    raised = NAMED_KIND_FACTOR * scores / (1 + (NAMED_KIND_FACTOR - 1) * scores)
    return np.where(named, raised, scores)


def _data_factors(query: Query, candidates: Sequence[Candidate]) -> Floats:
    """Return float32[n]: 0 for changelogs and `DATA_FACTOR` for data and translations that the question does not ask for.

    All other candidates have 1.  In 216 tasks a changelog took 540 tokens of each of six prompts, and none was needed.
    """
    data, translation = not _ASKS_FOR_DATA.search(query.text), not _ASKS_FOR_TRANSLATION.search(query.text)
    reduced = [
        ((data and _is_data(candidate)) or (translation and is_translation(candidate.entry.name)))
        and not candidate.by_path
        for candidate in candidates
    ]
    factors = np.where(reduced, DATA_FACTOR, 1).astype(np.float32)
    if not _ASKS_FOR_CHANGELOG.search(query.text):
        factors[[is_changelog(c.entry.name) and not c.by_path for c in candidates]] = 0
    return factors


def _is_data(candidate: Candidate) -> bool:
    name = candidate.entry.name
    if name[-4:].lower() == ".sql" and candidate.symbol is None:
        outline = candidate.entry.outline
        return bool(_SQL_DATA.search(name[:-4])) or (outline is not None and len(outline.symbols) > 0)
    return is_data_file(name)


@lru_cache(maxsize=1 << 14)
def is_data_file(name: str) -> bool:
    """Return whether a file, by its name, consists of data rows."""
    return _DATA.search(name) is not None


@lru_cache(maxsize=1 << 14)
def is_translation(name: str) -> bool:
    """Return whether a file, by its name, holds texts in another language than English."""
    return _TRANSLATION.search(name) is not None
