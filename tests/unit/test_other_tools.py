"""Spellings of other tools: prefixes are mentions, all others are text with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.mentions.context import ResolveContext
from promptls.mentions.registry import registry
from promptls.mentions.resolve import Resolution, message_syntax, parse_message, resolve_message
from workspaces import context_of, snapshot_of

FILES = """
-- src/cart.py --
class Cart:
    def add(self): pass
-- lib/sums.go --
package lib
func Sum() {}
-- README.md --
# Payment
"""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ResolveContext:
    return context_of(snapshot_of(FILES, tmp_path_factory.mktemp("tools")))


def resolve(message: str, context: ResolveContext) -> Resolution:
    return resolve_message(parse_message(message, context), context)


@pytest.mark.parametrize(
    ("message", "symbol"),
    [
        ("@class:Cart", "Cart"),
        ("@method:Cart.add", "Cart.add"),
        ("what does @function:Sum do", "Sum"),
        ("@def:add", "Cart.add"),
    ],
)
def test_prefix_names_a_symbol(context: ResolveContext, message: str, symbol: str) -> None:
    (outcome,) = resolve(message, context).outcomes
    assert (outcome.status, [item.symbol for item in outcome.targets]) == ("included", [symbol])


def test_usages_have_a_short_name() -> None:
    (mention,) = message_syntax("@refs:Cart").mentions
    kind = registry().get(mention.kind)
    assert kind is not None and kind.name == "usages"


@pytest.mark.process
@pytest.mark.parametrize(
    ("message", "text", "suggestion"),
    [
        ("explain #selection.", "#selection", "@selection"),
        ("(#codebase) where are retries?", "#codebase", "@codebase"),
        ("review #changes", "#changes", "@diff"),
        ("see @Git here", "@Git", "@diff"),
        ("what changed in @git:HEAD", "@git:HEAD", "@commit:HEAD"),
        ("review @git-changes", "@git-changes", "@diff"),
        ("explain @currentFile", "@currentFile", "@active"),
        ("explain #thisFile", "#thisFile", "@active"),
        ("fix the @Linter Errors", "@Linter", "@diagnostics"),
        ('@search:"add to cart"', '@search:"add to cart"', '@codebase:"add to cart"'),
        ("what does @Cart do", "@Cart", "@#Cart"),
        ("what does @Cart.add do", "@Cart.add", "@#Cart.add"),
        ("what does @cart.Cart do", "@cart.Cart", "@#cart.Cart"),
    ],
)
def test_word_is_text_with_a_suggestion(context: ResolveContext, message: str, text: str, suggestion: str) -> None:
    resolution = resolve(message, context)
    assert not resolution.outcomes
    assert [(o.mention.text, o.status, o.suggestion) for o in resolution.texts] == [(text, "text", suggestion)]
    assert resolve(suggestion, context).outcomes[0].mention.text == suggestion


def test_words_for_web_pages_are_text(context: ResolveContext) -> None:
    (text,) = resolve("see @url for details", context).texts
    assert text.reason.endswith("promptls reads local files only.")


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("see @Files here", "Write @ and the path of a file to mention it."),
        ("use @folder src", "Write @ and the path of a folder with a slash to mention it."),
        ("see @Code here", "Write @# and a name to mention it."),
    ],
)
def test_word_is_text_with_advice(context: ResolveContext, message: str, advice: str) -> None:
    (text,) = resolve(message, context).texts
    assert text.reason.endswith(advice)


@pytest.mark.parametrize(
    "message", ["`#selection`", "issue#changes", "#selection-box", "color: ##changes", "ask @john", "@Payment", "@ADD"]
)
def test_other_word_is_only_text(context: ResolveContext, message: str) -> None:
    resolution = resolve(message, context)
    assert (resolution.outcomes, resolution.texts) == ((), ())


def test_name_like_a_file_is_suggested_as_a_symbol(context: ResolveContext) -> None:
    (outcome,) = resolve("@lib.Sum", context).outcomes
    assert (outcome.status, outcome.suggestion) == ("unresolved", "@#lib.Sum")


def test_link_to_an_editor_is_its_file(context: ResolveContext, tmp_path: Path) -> None:
    root = context.snapshot.roots[0].path
    for link in (f"@vscode://file{root}/src/cart.py", "@cursor://file/src/cart.py", "@file://src/cart.py"):
        (outcome,) = resolve(link, context).outcomes
        assert [item.path for item in outcome.targets] == [f"{root}/src/cart.py"]
    (outcome,) = resolve("@vscode://settings/editor.fontSize", context).outcomes
    assert (outcome.status, outcome.reason.split(";")[0]) == ("unresolved", '"vscode:" links are not read')
