"""Context for writing tests: the existing tests of the code, and the helpers that they use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from promptls.graph.definition_items import definition_item, find_tests_named_after, node_of_item, tests_of, used_names
from promptls.graph.graph import INDEX_STEMS, GraphView
from promptls.graph.impact import indirect_tests
from promptls.index import OutlineRef, Snapshot, is_virtual, split_identifier
from promptls.knowledge.project.file_kind import is_test_path
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import collect_items, resolve_mentions
from promptls.model import FileText, Item, Origin, Span, decode_symbol_names
from promptls.prompt.tasks import SCORE, TaskRequest
from promptls.retrieval.query import is_identifier_style

RECIPE = "tests"
"""Name of the recipe that writes tests."""

MAX_TESTS, MAX_HELPERS, MAX_TARGETS = 10, 6, 8
"""Maximum numbers of calling tests, of helpers that they use, and of definitions under test."""

MIN_TESTS = 4
"""Number of tests below which tests are also found through callers and by their names."""

MAX_TYPICAL = 3
"""Maximum number of tests of a long test file none of which calls the code."""

WRAPPER_WORDS = frozenset("do handle on impl cmd fn op builtin".split())
"""First words of names that the names of tests leave out: `do_truncate` is tested by `test_truncate`."""

MAX_FILE_LINES = 400
"""Maximum lines of a test file that is shown as a whole; of a longer one, the calling tests are shown."""

_TEST_WORD = re.compile(r"\b(?:unit[ -]?|regression[ -]?|integration[ -]?)?(?:tests?|test[ -]?cases?|specs?)\b", re.I)
_WRITE_WORD = re.compile(
    r"\b(?:write|add|create|generate|draft|extend|cover|need|missing|schreib\w*|escribe|écris|ajoute)\b|写|書い|작성",
    re.I,
)
_TESTED = (
    r"(?i:\b(?:tests?|specs?|cases?|cover(?:s|ing)?)\s+(?:(?:for|of|the|our|my)\s+)*|(?:,|\band)\s+){0}(?!\w|\s+(?:in|of|from|that)\b)"
    r"|\b{0}\s+(?i:function|method|class|module|helper|type|struct|trait|component|hook)\b"
)
"""A plain word at the place of the name of what is tested; elsewhere it is a word of the sentence."""
_CJK_TEST = re.compile(r"测试|測試|テスト|테스트")


def asks_for_tests(request: TaskRequest) -> bool:
    """Return whether a request asks for tests of some code."""
    if request.recipe == RECIPE:
        return True
    question = request.question[:2000]
    return bool(_WRITE_WORD.search(question) and (_TEST_WORD.search(question) or _CJK_TEST.search(question)))


def items_of_tests(request: TaskRequest) -> list[Item]:
    """Return the tests of the code that a request is about, and the helpers of these tests."""
    context, view = request.context, request.context.graph
    targets = _targets(request)
    if not targets:
        return []
    paths = list(dict.fromkeys(path for path, _ in targets if not is_test_path(context.snapshot.label(path))))
    calling = calling_tests(targets, view)
    named = [test for path in paths for test in find_tests_named_after(context.snapshot, path)]
    files = dict.fromkeys((*named, *(item.path for item in calling if item.path not in paths)))
    whole = [path for path in files if _line_count(path, context) <= MAX_FILE_LINES][:2]
    tests = [*calling]
    if len(tests) < MIN_TESTS:
        through = dict.fromkeys(test for ref in targets for test, _ in indirect_tests(view, ref, context.token))
        tests += filter(None, (definition_item(view, ref, Origin.TASK, SCORE) for ref in through))
        tests += tests_by_name(targets, view)
    items = [Item(path, Span(0, 1 << 30), "file", Origin.TASK, SCORE) for path in whole]
    items += [item for item in tests[:MAX_TESTS] if item.path not in whole]
    if not items:
        items = [item for path in (*named, *paths) for item in _typical_tests(path, targets, view)][:MAX_TYPICAL]
    if not items:
        nearest = _nearest_test(paths, context.snapshot)
        items = [Item(path, Span(0, 1 << 30), "file", Origin.TASK, SCORE) for path in nearest]
    return [*_unmentioned(targets, request), *items, *_helpers(items, view, context)]


def _targets(request: TaskRequest) -> list[OutlineRef]:
    """Return the definitions or files under test: what is mentioned, else what the question names."""
    items: Iterable[Item] = (i for i in request.explicit_items if i.kind != "folder" and not is_virtual(i.path))
    found = [ref for item in items if (ref := _node(item, request.context.graph)) is not None]
    if not found:
        found = [ref for item in _named_definitions(request) if (ref := _node(item, request.context.graph)) is not None]
    return list(dict.fromkeys(found))[:MAX_TARGETS]


_SEPARATORS = re.compile(r"[\W_]+")
"""Characters between the words of a name, which `split_identifier` drops."""


def _typical_tests(path: str, targets: Sequence[OutlineRef], view: GraphView) -> list[Item]:
    """Return the tests in a file, those first whose names have most words in common with those of the definitions."""
    wanted = {word for ref in targets if (symbol := view.symbol(ref)) is not None for word in _name_words(symbol.name)}
    facts, has_helpers = view.file_symbols(path), is_test_path(view.snapshot.label(path))
    found = []
    for i, symbol in enumerate(facts.symbols if facts is not None else ()):
        words = _name_words(symbol.name)
        is_test = view.is_test((path, i)) and (not has_helpers or _TEST_WORD.match(" ".join(words)))
        if symbol.kind in CALLABLE_KINDS and is_test:
            found.append((-len(wanted.intersection(words)), i))
    items = (definition_item(view, (path, i), Origin.TASK, SCORE) for _, i in sorted(found)[:MAX_TYPICAL])
    return [item for item in items if item is not None]


def _node(item: Item, view: GraphView) -> OutlineRef | None:
    return (item.path, -1) if item.kind == "file" else node_of_item(view, item)


def _named_definitions(request: TaskRequest) -> list[Item]:
    """Return the definitions whose names are in the question, if each name has one definition."""
    text, styled = request.question, request.intent.query.code_names
    verified = [entity.name for entity in request.intent.entities if entity.verified]
    names = [
        name
        for name in verified
        if is_identifier_style(name)
        or name[:1].isupper()
        or name in styled
        or re.search(_TESTED.format(re.escape(name)), text)
    ][:MAX_TARGETS]
    outcomes = resolve_mentions(" ".join(f"@#{name.removesuffix('()')}" for name in names), request.context)
    return [item for item in collect_items(outcomes) if not is_test_path(request.context.snapshot.label(item.path))]


def _unmentioned(targets: Sequence[OutlineRef], request: TaskRequest) -> list[Item]:
    """Return the definitions under test if the message only names them."""
    if request.explicit_items:
        return []
    items = (definition_item(request.context.graph, ref, Origin.TASK, SCORE) for ref in targets)
    return [item for item in items if item is not None]


def calling_tests(targets: Sequence[OutlineRef], view: GraphView) -> list[Item]:
    """Return the tests that call definitions, or what is in files, with the places of the calls."""
    names = used_names(view, targets)
    tests = dict.fromkeys(test for ref in targets for test in tests_of(view, ref) if test not in targets)
    items = (definition_item(view, ref, Origin.TASK, SCORE, names) for ref in tests)
    return [item for item in items if item is not None]


def tests_by_name(targets: Sequence[OutlineRef], view: GraphView) -> list[Item]:
    """Return some tests whose own name or whose class's name contains the name of a definition or file.

    Tests that call code through an interface or a registry have no calls that syntax can resolve.
    """
    names: set[str] = set()
    for path, index in targets:
        symbol = view.symbol((path, index))
        name = symbol.name if symbol is not None else path.rpartition("/")[2].partition(".")[0]
        words = _name_words(name)
        names.add("".join(words))
        if len(words) > 1 and words[0] in WRAPPER_WORDS:
            names.add("".join(words[1:]))
    names = {name for name in names if len(name) > 2 and name not in INDEX_STEMS}
    found: list[tuple[int, OutlineRef]] = []
    for path, entry in view.snapshot.files.items():
        if not is_test_path(view.snapshot.label(path)):
            continue
        if not _contains_any("\n".join(decode_symbol_names(entry.encoded_outline)), names):
            continue  # most files; their other facts are not decoded
        facts = view.file_symbols(path)
        for i, symbol in enumerate(facts.symbols if facts is not None else ()):
            if not _contains_any(symbol.qualified, names):
                continue
            words = [word for part in symbol.qualified.split(".") for word in _name_words(part)]
            if symbol.kind in CALLABLE_KINDS and _TEST_WORD.search(" ".join(words)) and _has_run(words, names):
                found.append((len(symbol.span), (path, i)))
    items = (definition_item(view, ref, Origin.TASK, SCORE) for _, ref in sorted(found)[-MAX_TESTS // 2 :])
    return [item for item in items if item is not None]


def _contains_any(text: str, names: set[str]) -> bool:
    """Return whether one of the names is in a text without its separators: a quick test before words are split."""
    letters = _SEPARATORS.sub("", text.lower())
    return any(name in letters for name in names)


def _name_words(name: str) -> list[str]:
    return [word.lower() for word in split_identifier(name)]


def _has_run(words: Sequence[str], names: set[str]) -> bool:
    """Return whether adjacent words together are one of the names."""
    return any(
        "".join(words[i:j]) in names for i in range(len(words)) for j in range(i + 1, min(i + 6, len(words)) + 1)
    )


def _line_count(path: str, context: ResolveContext) -> int:
    outline = context.snapshot.outline(path)
    return outline.lines if outline is not None else 1 << 30


def _nearest_test(paths: Sequence[str], snapshot: Snapshot) -> list[str]:
    """Return the test file of the same language that has the most folders in common with the code; at most one."""
    if not paths:
        return []
    target = snapshot.label(paths[0]).split("/")
    outline = snapshot.outline(paths[0])
    best: tuple[int, int, str] | None = None
    for path in snapshot.files:
        label = snapshot.label(path)
        other = snapshot.outline(path) if is_test_path(label) else None
        if other is None or outline is None or other.language != outline.language or not other.symbols:
            continue
        common = len({*target[:-1]} & {*label.split("/")[:-1]})
        key = (-common, abs(other.lines - 120), path)
        best = key if best is None else min(best, key)
    return [best[2]] if best is not None else []


def _helpers(tests: Sequence[Item], view: GraphView, context: ResolveContext) -> list[Item]:
    """Return the definitions in other test files that tests use: fixtures, factories, assertions.

    Test frameworks pass fixtures by the names of parameters, so names count as uses.
    """
    shown = {item.path for item in tests}
    words: set[str] = set()
    for item in tests:
        file = context.sources.read(item.path)
        if isinstance(file, FileText):
            words.update(re.findall(r"[A-Za-z_]\w{2,}", file.slice(item.span)))
    helpers: dict[OutlineRef, None] = {}
    for path in sorted({p for test in shown for p in _helper_files(test, context.snapshot)} - shown):
        facts = view.file_symbols(path)
        for i, symbol in enumerate(facts.symbols if facts is not None else ()):
            if symbol.parent < 0 and symbol.name in words:
                helpers[path, i] = None
    items = (definition_item(view, ref, Origin.TASK, SCORE) for ref in helpers)
    return [item for item in items if item is not None][:MAX_HELPERS]


_HELPER_FILE = re.compile(
    r"(?:conftest|.*(?:helpers?|fixtures?|utils?|support|factory|factories|common|setup))\.\w+", re.I
)


def _helper_files(test: str, snapshot: Snapshot) -> list[str]:
    """Return the files of helpers in the folder of a test and in the folders above it, as far as they hold tests."""
    root = snapshot.root_of(test)
    folders: set[str] = set()
    folder = test.rpartition("/")[0]
    while root is not None and len(folder) >= len(root.path):
        folders.add(folder)
        folder = folder.rpartition("/")[0]
    return [
        path
        for path in snapshot.files
        if path.rpartition("/")[0] in folders
        and _HELPER_FILE.fullmatch(path.rpartition("/")[2])
        and ("conftest" in path or is_test_path(snapshot.label(path)))
    ]
