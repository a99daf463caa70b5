"""Registry of mention kinds: built-in kinds and plugins, valid and broken ones."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from promptls.mentions import registry
from promptls.mentions.context import ResolveContext
from promptls.mentions.kinds import MentionKind
from promptls.mentions.registry import BUILT_IN, load_kinds
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.syntax import grammar
from promptls.model import Mention, MentionOutcome
from workspaces import context_of, snapshot_of

EXAMPLE = "test_mention_registry"


def echo(mention: Mention, context: ResolveContext) -> MentionOutcome:
    return MentionOutcome(mention, "omitted", reason=f"{mention.kind} of {mention.target or 'nothing'}.")


def broken(mention: Mention, context: ResolveContext) -> MentionOutcome:
    raise ValueError("no such luck")


def careless(mention: Mention, context: ResolveContext) -> MentionOutcome:
    return None  # type: ignore[return-value]


TICKET = MentionKind("ticket", ("@ticket", "@ticket:7"), "What was asked for.", echo, 10, argument="optional")
MORE = [
    MentionKind("ends", ("@ends",), "Open ends.", echo),
    MentionKind("crash", ("@crash",), "Always fails.", broken),
    MentionKind("lazy", ("@lazy",), "No answer.", careless),
]
OPEN = MentionKind("open", ("@open",), "Another idea of open.", echo, 500)
NAMELESS = MentionKind("no name", ("@no name",), "Cannot be written.", echo)
NO_KIND = 42


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.ENTRY_POINT_GROUP)


def test_built_in_kinds_are_an_entry_point() -> None:
    assert load_kinds([]).kinds == load_kinds([point("built-in", "promptls.mentions.registry:BUILT_IN")]).kinds
    assert not load_kinds([point("built-in", "promptls.mentions.registry:BUILT_IN")]).problems
    assert [kind.name for kind in load_kinds([]).kinds.values()] == [kind.name for kind in BUILT_IN]


def test_core_keywords_are_registered_kinds() -> None:
    assert dict(grammar.CORE_KEYWORDS).items() <= load_kinds([]).keywords().items()


def test_kind_by_alias() -> None:
    kinds = load_kinds([])
    for kind in BUILT_IN:
        assert all(kinds.get(name) == kind for name in (kind.name, *kind.aliases))


def test_syntax_examples_are_parsed_as_their_kind() -> None:
    for kind in BUILT_IN:
        assert kind.help.endswith(".")
        for example in kind.syntax:
            (mention,) = grammar.parse(f"see {example} now", load_kinds([]).keywords())
            assert (mention.kind, mention.text) == (kind.name, example)


def test_plugin_kinds(tmp_path: Path) -> None:
    kinds = load_kinds([point("ticket", f"{EXAMPLE}:TICKET"), point("more", f"{EXAMPLE}:MORE")])
    assert not kinds.problems
    context = context_of(snapshot_of("-- a.py --\nx = 1", tmp_path))
    outcomes = resolve_mentions("@ticket @ticket:7 @ends @crash @lazy @a.py", context, kinds)
    assert [(o.mention.text, o.status, o.reason) for o in outcomes] == [
        ("@ticket", "omitted", "ticket of nothing."),
        ("@ticket:7", "omitted", "ticket of 7."),
        ("@ends", "omitted", "ends of nothing."),
        ("@crash", "omitted", 'The mention kind "crash" failed: no such luck.'),
        ("@lazy", "omitted", 'The mention kind "lazy" failed: expected a MentionOutcome, got None.'),
        ("@a.py", "included", ""),
    ]
    assert resolve_mentions("@ticket @ends", context) == ()


@pytest.mark.parametrize(
    "value", ["no_such_module_at_all:X", f"{EXAMPLE}:missing", f"{EXAMPLE}:NO_KIND", f"{EXAMPLE}:NAMELESS"]
)
def test_broken_plugin_is_reported_as_a_problem(value: str) -> None:
    kinds = load_kinds([point("bad", value), point("ticket", f"{EXAMPLE}:TICKET")])
    assert list(kinds.kinds) == [*(kind.name for kind in BUILT_IN), "ticket"]
    (problem,) = kinds.problems
    assert '"bad"' in problem.message
    assert value in problem.message


def test_plugin_with_higher_priority_replaces_a_built_in_kind() -> None:
    kinds = load_kinds([point("open", f"{EXAMPLE}:OPEN")])
    assert kinds.kinds["open"].resolve is echo
    assert next(iter(kinds.kinds)) == "open"
    assert '"open"' in kinds.problems[0].message
