"""Extent of mentions: a known path behind "@" has an outcome, whatever text surrounds it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.syntax.lexer import starts_mention
from workspaces import context_of, snapshot_of

NAMES = ["src/app.py", "report(1).md", "a,b.csv", "docs/読み方.md", "(auth)/page.tsx", "C#/Program.cs"]

LETTERS = "".join("漢字かなカナ한국어ไทยລາວខ្មែرعربيעבריתहिन्दीবাংলাெ")
MARKS = " \u3000\u200b\u200f\u2060\u2068\u2069，。、！？（）「」“”—→…👉😀(){}[]<>,;!?*+|&\"'"
ENDS = "".join(char for char in LETTERS + MARKS if char.isspace() or char.isalpha() or char in "，。、！？」”—…👉,;!>|")
BEFORE = st.text(st.sampled_from(LETTERS + MARKS + "aZ.:_=-/#9я\n"), max_size=12)
AFTER = st.text(st.sampled_from(LETTERS + MARKS + "aZ.:_=-/#9я\n@"), max_size=12)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ResolveContext:
    files = "".join(f"-- {name} --\nx = 1\n" for name in NAMES)
    return context_of(snapshot_of(files, tmp_path_factory.mktemp("shop")))


@given(BEFORE, st.sampled_from(NAMES), AFTER)
@settings(max_examples=1500, deadline=None)
def test_known_path_has_an_outcome(context: ResolveContext, before: str, name: str, after: str) -> None:
    message = f"{before}@{name}{after}"
    assume(starts_mention(message, len(before)))
    outcomes = [o for o in resolve_mentions(message, context) if o.mention.start == len(before)]
    if not after or after[0] in ENDS:
        assert [(o.status, o.mention.text) for o in outcomes] == [("included", f"@{name}")]
    for outcome in outcomes:  # with more letters behind it, it is another name
        assert [context.snapshot.label(item.path) for item in outcome.targets] in ([], [name])
