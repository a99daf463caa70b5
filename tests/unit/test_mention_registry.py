"""How kinds come in: ours and those of other packages, good and broken ones."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from promptls.mentions import grammar, registry
from promptls.mentions.context import Request
from promptls.mentions.registry import BUILT_IN, Kind, load
from promptls.mentions.resolve import resolve_all
from promptls.model import Mention, MentionOutcome
from workspaces import request_of, snapshot_of

EXAMPLE = "test_mentions_registry"


def echo(mention: Mention, request: Request) -> MentionOutcome:
    return MentionOutcome(mention, "omitted", reason=f"{mention.kind} of {mention.target or 'nothing'}.")


def broken(mention: Mention, request: Request) -> MentionOutcome:
    raise ValueError("no such luck")


def careless(mention: Mention, request: Request) -> MentionOutcome:
    return None  # type: ignore[return-value]


TICKET = Kind("ticket", ("@ticket", "@ticket:7"), "What was asked for.", echo, 10, argument="optional")
MORE = [
    Kind("todo", ("@todo",), "Open ends.", echo),
    Kind("crash", ("@crash",), "Always fails.", broken),
    Kind("lazy", ("@lazy",), "No answer.", careless),
]
OPEN = Kind("open", ("@open",), "Another idea of open.", echo, 500)
NAMELESS = Kind("no name", ("@no name",), "Cannot be written.", echo)
NO_KIND = 42


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.GROUP)


def test_ours_come_by_the_same_door() -> None:
    assert load([]).kinds == load([point("built-in", "promptls.mentions.registry:BUILT_IN")]).kinds
    assert not load([point("built-in", "promptls.mentions.registry:BUILT_IN")]).problems
    assert [kind.name for kind in load([]).kinds.values()] == [kind.name for kind in BUILT_IN]


def test_the_words_of_the_grammar_are_those_of_kinds() -> None:
    assert dict(grammar.WORDS).items() <= load([]).words().items()


def test_a_kind_is_found_by_its_other_names() -> None:
    kinds = load([])
    for kind in BUILT_IN:
        assert all(kinds.named(name) == kind for name in (kind.name, *kind.aliases))


def test_each_example_of_the_help_is_read_as_its_kind() -> None:
    for kind in BUILT_IN:
        assert kind.help.endswith(".")
        for example in kind.syntax:
            (mention,) = grammar.parse(f"see {example} now", load([]).words())
            assert (mention.kind, mention.text) == (kind.name, example)


def test_kinds_of_other_packages(tmp_path: Path) -> None:
    kinds = load([point("ticket", f"{EXAMPLE}:TICKET"), point("more", f"{EXAMPLE}:MORE")])
    assert not kinds.problems
    request = request_of(snapshot_of("-- a.py --\nx = 1", tmp_path))
    outcomes = resolve_all("@ticket @ticket:7 @todo @crash @lazy @a.py", request, kinds)
    assert [(o.mention.text, o.status, o.reason) for o in outcomes] == [
        ("@ticket", "omitted", "ticket of nothing."),
        ("@ticket:7", "omitted", "ticket of 7."),
        ("@todo", "omitted", "todo of nothing."),
        ("@crash", "omitted", 'The mention kind "crash" failed: no such luck.'),
        ("@lazy", "omitted", 'The mention kind "lazy" failed: it gave None and no outcome.'),
        ("@a.py", "included", ""),
    ]
    assert resolve_all("@ticket @todo", request) == ()


@pytest.mark.parametrize(
    "value", ["no_such_module_at_all:X", f"{EXAMPLE}:missing", f"{EXAMPLE}:NO_KIND", f"{EXAMPLE}:NAMELESS"]
)
def test_a_broken_kind_is_a_problem_and_no_crash(value: str) -> None:
    kinds = load([point("bad", value), point("ticket", f"{EXAMPLE}:TICKET")])
    assert list(kinds.kinds) == [*(kind.name for kind in BUILT_IN), "ticket"]
    (problem,) = kinds.problems
    assert '"bad"' in problem.message
    assert value in problem.message


def test_the_higher_priority_wins_and_the_loser_is_named() -> None:
    kinds = load([point("open", f"{EXAMPLE}:OPEN")])
    assert kinds.kinds["open"].resolve is echo
    assert next(iter(kinds.kinds)) == "open"
    assert '"open"' in kinds.problems[0].message
