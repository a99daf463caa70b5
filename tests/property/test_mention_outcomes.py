"""The outcome of each mention agrees with the content of the prompt, for any mentions, order, budget and profile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import event, example, given, reject
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from conftest import git
from promptls.graph.graph import Graph
from promptls.graph.imports import ImportResolver
from promptls.knowledge.memory_store import MemoryStore
from promptls.lsp.features.diagnostics import diagnostic_code
from promptls.mentions.context import ClientContext, ResolveContext, Services
from promptls.mentions.resolve import parse_message
from promptls.model import FileText, Item, MentionOutcome, Span
from promptls.prompt.assemble import BudgetTooSmall
from promptls.prompt.budget import BudgetRequest
from promptls.prompt.build import BuildResult, build
from promptls.prompt.dry_run import dry_run
from promptls.prompt.layouts import Message
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options
from promptls.prompt.profile import profile_names
from promptls.settings import Settings
from workspaces import IndexedSnapshot, context_of, snapshot_of

FILES = """
-- src/a.py --
\"\"\"Accounts.\"\"\"
from src.b import in_b


class Account:
    # the balance of an account
    def deposit(self, amount):
        deposit_checked = amount > 0
        self.balance += in_b(amount)
        return deposit_checked

    def close(self):
        self.is_closed = self.deposit(0)
        return self.is_closed


def open_account(name):
    opened_account = Account(name)
    return opened_account
-- src/b.py --
def in_b(amount):
    converted = amount * 100
    return converted
-- src/sub/c.py --
from src.a import open_account

LIMIT = 30


def demo():
    demo_account = open_account("demo")
    return demo_account
-- src/empty.py --
-- docs/guide.md --
# Guide

How to open an account and to deposit an amount.
-- AGENTS.md --
Use four spaces.
-- tests/test_a.py --
from src.a import open_account


def test_deposit():
    tested_account = open_account("test")
    assert tested_account.deposit(1)
""" + "".join(f"-- many/m{n}.py --\ndef many_{n}():\n    count_{n} = {n}\n    return count_{n}\n" for n in range(14))

MENTIONS = (
    "@src/a.py", "@src/a.py:6-10", "@src/a.py:8-14", "@src/a.py:2-3,17-19", "@a.py:1", "@#open_account",
    "@#Account", "@#Account.deposit", "@src/a.py#Account.close", "@src/b.py", "@#in_b", "@src/b.py:1-3", "@src/b.py:2",
    "@src/sub/c.py", "@#LIMIT", "@src/empty.py", "@docs/guide.md", "@AGENTS.md", "@many/m3.py", "@#many_3",
    "@src/", "@src/sub/", "@many/", "@workspace", "@map", "@map:src/", "@map:many/", "@tree", "@tree:src/",
    "@glob:**/*.py", "@glob:many/*.py", "@glob:src/**", "@layer:test", "@tests:src/a.py", "@tests:#deposit",
    "@callers:in_b", "@callees:demo", "@usages:Account", "@path:demo..open_account",
    "@text:account", '@regex:"def .*account"', '@codebase:"deposit an amount"', "@rules", "@memory",
    "@active", "@selection", "@open", "@visible", "@diff", "@staged", "@commit:HEAD", "@recent", "@terminal",
    "@clipboard", "@diagnostics", "@quickfix", "@history", "@src/none.py", "@#none", "@nowhere/",
)  # fmt: skip

FRAME_TOKENS = 300
"""More tokens than a layout adds to the message of a prompt with code."""

BUDGETS = st.one_of(st.integers(80, 400), st.integers(400, 2_000), st.sampled_from([4_000, 60_000]))


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ResolveContext:
    top = tmp_path_factory.mktemp("outcomes")
    snapshot_of(FILES.replace("= 30", "= 20"), top)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(top, *arguments)
    snapshot = snapshot_of(FILES, top)
    base = snapshot.roots[0].path
    services = Services(
        index=IndexedSnapshot(snapshot), graph=Graph(ImportResolver).at, memory=MemoryStore(Path(base) / "none")
    )
    client = ClientContext(
        f"{base}/src/a.py",
        (f"{base}/src/sub/c.py", Span(5, 7)),
        (f"{base}/src/a.py", f"{base}/src/b.py"),
        (f"{base}/src/b.py",),
        terminal="FAILED tests/test_a.py",
        clipboard="copied text",
    )
    return replace(context_of(snapshot), services=services, client=client)


class Built(Struct, frozen=True):
    """A prompt, and the context that it was built with."""

    result: BuildResult
    context: ResolveContext

    @property
    def free_tokens(self) -> int:
        """The part of the budget that is not used."""
        return self.result.assembled.budget - self.result.assembled.tokens_used


def build_prompt(
    context: ResolveContext, message: str, budget: int, fill: str = "relevant", profile: str = "default"
) -> Built:
    """Build a prompt for a message with the sources of a new request."""
    request = RequestOptions(profile, budget=BudgetRequest(budget, counter="chars4", fill=fill))
    context = fresh(context)
    try:
        options = resolve_options(Settings(), request, RecipeOptions())
        return Built(build(parse_message(message, context), options, context), context)
    except BudgetTooSmall:
        reject()


def fresh(context: ResolveContext) -> ResolveContext:
    """Return a context without the texts and virtual documents of earlier requests."""
    return replace(context, sources=context_of(context.snapshot).sources)


def lines_of(item: Item, context: ResolveContext) -> set[tuple[str, int]]:
    """Return the lines of an item that are not blank."""
    view = context.sources.read(item.path, explicit=True)
    assert isinstance(view, FileText)
    end = min(item.span.end, len(view.lines))
    return {(item.path, line) for line in range(item.span.start, end) if view.lines[line].strip()}


def shown_lines(result: BuildResult) -> Counter[tuple[str, int]]:
    """Return the lines of files in a prompt, with the number of times that each is shown."""
    return Counter(
        (item.rendered.item.path, line)
        for item in result.assembled.items
        for span in item.rendered.spans
        for line in range(span.start, span.end)
    )


def own_lines(result: BuildResult, regions: set[tuple[str, Span]]) -> set[tuple[str, int]]:
    """Return the lines of files that a prompt shows for these regions."""
    return {
        (part.item.path, line)
        for item in result.assembled.items
        for part in item.parts_showing(lambda source: (source.path, source.span) in regions)
        for span in part.spans
        for line in range(span.start, span.end)
    }


@given(
    st.lists(st.sampled_from(MENTIONS), min_size=1, max_size=3),
    BUDGETS,
    st.sampled_from(["relevant", "full"]),
    st.sampled_from(profile_names()),
    st.sampled_from(["", "how is an amount converted? "]),
)
@example(["@src/a.py:8-14", "@src/a.py:6-10"], 326, "relevant", "default", "")
def test_outcomes_agree_with_the_prompt(
    context: ResolveContext, mentions: list[str], budget: int, fill: str, profile: str, question: str
) -> None:
    built = build_prompt(context, question + " ".join(mentions), budget, fill, profile)
    shown = shown_lines(built.result)
    assert [line for line, count in shown.items() if count > 1] == []
    items = {(source.path, source.span) for item in built.result.assembled.items for source in item.sources}
    for outcome in built.result.mentions:
        event(outcome.status)
        targets = [target for target in outcome.targets if not target.group]
        lines = {line for target in targets if target.kind != "folder" for line in lines_of(target, built.context)}
        if outcome.status == "included":
            assert lines <= shown.keys(), outcome
            assert all((t.path, t.span) in items for t in targets)
        if outcome.status == "omitted" and targets:
            assert not lines & shown.keys(), outcome
        if outcome.status == "partial" and lines:
            assert not lines <= shown.keys(), outcome
        if "leaves no room" in outcome.reason:
            assert outcome.full_tokens + FRAME_TOKENS > built.free_tokens
        assert outcome.reason or outcome.status == "included"


@given(
    st.lists(st.sampled_from(MENTIONS), min_size=2, max_size=3, unique=True).flatmap(
        lambda names: st.tuples(st.just(names), st.permutations(names))
    ),
    st.sampled_from(profile_names()),
)
@example((["@src/", "@src/a.py"], ["@src/a.py", "@src/"]), "default")
@example((["@diff", "@commit:HEAD"], ["@commit:HEAD", "@diff"]), "default")
@example((["@map", "@map:src/"], ["@map:src/", "@map"]), "default")
@example((["@map", "@glob:**/*.py"], ["@glob:**/*.py", "@map"]), "default")
@example((["@many/m3.py", "@map:many/"], ["@map:many/", "@many/m3.py"]), "default")
def test_order_of_mentions_does_not_change_what_is_shown_if_all_fits(
    context: ResolveContext, orders: tuple[list[str], list[str]], profile: str
) -> None:
    first, second = (build_prompt(context, " ".join(names), 60_000, profile=profile).result for names in orders)
    statuses = {outcome.mention.text: outcome.status for outcome in first.mentions}
    assert statuses == {outcome.mention.text: outcome.status for outcome in second.mentions}
    assert "partial" not in statuses.values()
    assert outlines(first) == outlines(second)
    regions = {(target.path, target.span) for outcome in first.mentions for target in outcome.targets}
    assert own_lines(first, regions) == own_lines(second, regions)
    assert shown_lines(first) == shown_lines(second)


def outlines(result: BuildResult) -> set[tuple[str, str]]:
    """Return the outlines of folders and file sets, by path."""
    items = [item.rendered for item in result.assembled.items]
    return {(rendered.item.path, rendered.body) for rendered in items if rendered.form == "outline"}


@given(
    st.lists(st.sampled_from(MENTIONS), min_size=1, max_size=3),
    st.one_of(st.integers(1, 80), BUDGETS),
    st.sampled_from(profile_names()),
    st.sampled_from(["", "how is an amount converted? ", "explain this file "]),
    st.sampled_from([(), (Message("user", "What is an account?"), Message("assistant", "A balance." * 40))]),
)
@example(["@#in_b"], 20, "default", "", ())
def test_diagnostics_agree_with_the_prompt(
    context: ResolveContext, mentions: list[str], budget: int, profile: str, question: str, history: tuple[Message, ...]
) -> None:
    message = question + " ".join(mentions)
    request = RequestOptions(profile, budget=BudgetRequest(budget, counter="chars4"), history=history)
    options = resolve_options(Settings(), request, RecipeOptions())
    parsed = parse_message(message, context)
    run = dry_run(parsed, fresh(context), options)
    try:
        built = [story(outcome) for outcome in build(parsed, options, fresh(context)).mentions]
    except BudgetTooSmall:
        assert all(outcome.status != "included" or not outcome.targets for outcome in run.mentions)
        return
    assert [story(outcome) for outcome in run.mentions] == built


def story(outcome: MentionOutcome) -> tuple[str, str, str, str]:
    return outcome.mention.text, outcome.status, outcome.reason, diagnostic_code(outcome)
