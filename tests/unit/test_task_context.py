"""Context by task: parsing of changes, instructions without a topic, follow-up questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index import Snapshot
from promptls.mentions.resolvers.git import unified_diff
from promptls.model import FileText, Item, Origin, Span
from promptls.prompt.budget import BudgetRequest
from promptls.prompt.context.explicit import locate_item
from promptls.prompt.context.gather import score_threshold
from promptls.prompt.layouts import Message
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options
from promptls.prompt.tasks.changes import FileChange, parse_change
from promptls.prompt.tasks.select import earlier_question, is_instruction_only
from promptls.settings import Settings
from workspaces import context_of, snapshot_of

BEFORE = """def load(path):
    return open(path)


def save(path, text):
    with open(path, "w") as file:
        file.write(text)


def close():
    pass
"""


@pytest.mark.parametrize(
    ("after", "lines", "removed", "hunk"),
    [
        (BEFORE.replace("return open(path)", "return open(path, 'rb')"), (1,), (), Span(0, 5)),
        (BEFORE.replace("    pass\n", "    pass\n\n\ndef reopen():\n    pass\n"), (13, 14), (), Span(8, 15)),
        (BEFORE.replace("def close():\n    pass\n", ""), (9,), ("close",), Span(6, 9)),
        (BEFORE.replace("def close", "def shut"), (9,), ("close",), Span(6, 11)),
        (BEFORE.replace("def load(path)", "def load(path, mode)"), (0,), (), Span(0, 4)),
        (BEFORE.replace("\n\n\ndef save", "\n\ndef save"), (), (), Span(0, 6)),
    ],
    ids=["changed line", "added function", "removed function", "renamed function", "changed signature", "blank line"],
)
def test_changed_lines_and_removed_names_of_a_diff(
    after: str, lines: tuple[int, ...], removed: tuple[str, ...], hunk: Span
) -> None:
    diff, _, _ = unified_diff(BEFORE, after)
    assert parse_change("/w/a.py", diff) == FileChange("/w/a.py", lines, removed, (hunk,))


@given(st.text())
def test_any_text_can_be_parsed_as_a_diff(text: str) -> None:
    change = parse_change("a.py", text)
    assert list(change.lines) == sorted(set(change.lines))


@pytest.mark.parametrize(
    "question",
    [
        "",
        "translate this comment",
        "Please explain this function step by step.",
        "Review my change",
        "write unit tests for",
        "hello",
        "How could I split this into smaller files?",
        "fix the typos in lines 3 to 10",
        "Erkläre bitte diese Funktion",
    ],
)
def test_instruction_that_needs_no_other_code(question: str) -> None:
    assert is_instruction_only(question)


@pytest.mark.parametrize(
    "question",
    [
        "who calls this, and with which timeout?",
        "why is the session lost?",
        "translate the error messages of the parser",
        "用法是什么？",
    ],
)
def test_question_with_a_topic(question: str) -> None:
    assert not is_instruction_only(question)


NO_WORKSPACE = context_of(Snapshot())

HISTORY = (
    Message("user", "how does @#Store.save write the index?"),
    Message("assistant", "It writes a new file and renames it."),
)


@pytest.mark.parametrize(
    "question", ["and if the disk is full?", "why?", "does it lock the file?", "what about that one"]
)
def test_follow_up_is_understood_with_the_question_before_it(question: str) -> None:
    assert earlier_question(question, HISTORY, NO_WORKSPACE) == "how does Store.save write the index?"


@pytest.mark.parametrize(
    ("question", "history"),
    [
        ("where are passwords hashed?", HISTORY),
        ("and if the disk is full?", ()),
        ("and if the disk is full?", (Message("assistant", "Hello."),)),
        ("it " + "word " * 20, HISTORY),
    ],
    ids=["new topic", "no history", "no earlier question", "long question"],
)
def test_question_that_stands_alone(question: str, history: tuple[Message, ...]) -> None:
    assert earlier_question(question, history, NO_WORKSPACE) == ""


@pytest.mark.parametrize(
    ("best", "names_code", "fill", "expected"),
    [
        (0.5, False, "relevant", 0.005),
        (0.02, False, "relevant", 0.03),
        (0.02, True, "relevant", 0.005),
        (0.02, False, "full", 0.001),
    ],
    ids=["likely", "all weak", "weak beside mentioned code", "filled budget"],
)
def test_minimum_score(best: float, names_code: bool, fill: str, expected: float) -> None:
    items = [Item("/w/a.py", Span(0, 1), "text", Origin.KEYWORD, score) for score in (best, 0.01)]
    request = RequestOptions(budget=BudgetRequest(fill=fill))
    options = resolve_options(Settings(), request, RecipeOptions())
    assert score_threshold(items, options, names_code=names_code) == expected


TWO = "-- a.py --\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


@pytest.mark.parametrize("origin", [Origin.TASK, Origin.SYMBOL])
@pytest.mark.parametrize(
    ("after", "symbol", "expected"),
    [
        ("def renamed():\n    return 1\n", "first", None),
        ("x = 1\ny = 2\nz = 3\n\n\ndef first():\n    return 1\n", "first", Span(5, 7)),
        ("x = 1\ndef first():\n    return 1\n", "first", Span(1, 3)),
        ("def second():\n    return 2\n", "second", Span(0, 2)),
        (TWO.split("\n", 1)[1], "first", Span(0, 2)),
    ],
)
def test_items_of_a_changed_file_have_the_name_of_their_text(
    tmp_path: Path, origin: Origin, after: str, symbol: str, expected: Span | None
) -> None:
    """The index has not read the change yet; a name must not be the header of another definition."""
    context = context_of(snapshot_of(TWO, tmp_path))
    path = context.snapshot.roots[0].path + "/a.py"
    span = {"first": Span(0, 2), "second": Span(4, 6)}[symbol]
    (tmp_path / "a.py").write_text(after)
    view = context.sources.read(path)
    assert isinstance(view, FileText)
    located = locate_item(Item(path, span, "function", origin, 0.5, symbol), view, context)
    assert (located and located.span) == expected


def test_lines_that_a_task_selects_in_changed_text_are_kept(tmp_path: Path) -> None:
    context = context_of(snapshot_of(TWO, tmp_path))
    path = context.snapshot.roots[0].path + "/a.py"
    (tmp_path / "a.py").write_text("def third():\n    x = 1\n    return x\n")
    view = context.sources.read(path)
    assert isinstance(view, FileText)
    for item in (
        Item(path, Span(1, 2), "text", Origin.TASK, 0.5),
        Item(path, Span(1, 2), "function", Origin.TASK, 0.5, "third"),
    ):
        assert locate_item(item, view, context) == item
