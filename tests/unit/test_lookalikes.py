"""Words with an "@" in code without a fence are text, and the same words in prose are mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.mentions.lookalikes import text_warnings, words_in_code
from promptls.mentions.resolve import Resolution, message_syntax, parse_message, resolve_message
from promptls.mentions.syntax.code_ranges import code_ranges
from workspaces import context_of, snapshot_of

CODE = [
    "Why is @tree nil after parse?\n\nclass Parser\n  def initialize\n    @tree = nil\n    @open ||= 1\n    @path, @branch = 1, 2\n  end\nend",
    "@cli.command()\n@cli\ndef main(): ...\nwhy does it not run?",
    "/** @memory {string} x */",
    "ask @alice about it",
    "npm i @types/node @core/index @shared/util",
    "T-SQL: DECLARE @map TABLE (id int); SELECT @history = 1; SET @open = 2",
    "SELECT a FROM @map WHERE x = @history",
    "@test\npublic void x() {\n}",
    "@main struct App: App {\n  @state private var x = 1\n}",
    "import x from '@core/index'\nimport y from \"@/components/a.ts\"",
    '"dependencies": {\n  "@core/index": "^1.0",\n  "@types/node": "1"\n}',
    "@impl true\ndef foo(x) do",
    "class A {\n  @tests() run() {}\n  @commit\n  save(): void {\n  }\n  @branch name: string;\n}",
    'puts "a #{@tree}"',
    "foo(@tree, @map)",
    "x = @tree + 1",
    "// @memory foo",
    "Why is @tree nil?\n```ruby\n@tree = nil\n```",
    "all:\n\t@tree -L 2",
]

PROSE = [
    "explain @tree please",
    "@diff: what changed?",
    "- @diff\n- @tree",
    "@diff\nexplain foo()",
    "See @tests. They fail",
    "Compare:\n  @diff\n  @history",
    "look at @diff;\nthen say",
    "(@diff)",
    "@workspace class Foo: what does it do?",
    "why does @diff show int x = 1;",
    "> @diff",
    "npm install fails, see @core/index",
    "if @problems shows errors, fix them",
    "@diff\nclass names are wrong",
    "@diff\n\ndef f(): ...",
    '"@tree"',
    "please select @history",
    "@map: 10",
    # code without punctuation next to the word: a mention, which its outcome shows
    "def a\n  return @tree if @map\nend",
]

SHOP = """
-- test/test_a.py --
def test_a(): ...
-- core/index.ts --
export const a = 1
-- alice.md --
# Alice
-- src/app.py --
def main(): ...
"""


def resolve(message: str, top: Path) -> Resolution:
    context = context_of(snapshot_of(SHOP, top))
    return resolve_message(parse_message(message, context), context)


def split(message: str) -> tuple[list[str], list[str]]:
    """Return the mentions of a message that are text, and those that are mentions."""
    mentions = message_syntax(message).mentions
    words = words_in_code(message, mentions, code_ranges(message))
    return [m.text for m in mentions if m.start in words], [m.text for m in mentions if m.start not in words]


@pytest.mark.parametrize("message", CODE)
def test_words_in_code_are_text(message: str) -> None:
    text, rest = split(message)
    assert text and not rest


@pytest.mark.parametrize("message", PROSE)
def test_words_in_prose_are_mentions(message: str) -> None:
    text, rest = split(message)
    assert rest and not text


@pytest.mark.parametrize(
    "word", ["@tree:", "@test/", "'@test/'", "@src/app.py", "@app.py:1", "@#main", "@tests:src/app.py"]
)
@pytest.mark.parametrize("code", ["{} = nil", "x = {}", "f({})", "def f():\n  {}\n", "{}\ndef f():", "// {}"])
def test_mentions_with_more_than_a_word_are_never_text(word: str, code: str) -> None:
    text, rest = split(code.format(word))
    assert rest and not text


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("@tree = nil", "@tree is in code, so it is text. Write @tree: to mention it."),
        ("@test\ndef f(): ...", "@test is in code, so it is text. Write @test/ to mention it."),
        ("npm i @core/index", "@core/index is in code, so it is text. Write @core/index.ts to mention it."),
        ("ask @alice", "@alice is the name of a person, so it is text. Write @alice.md to mention it."),
        ("@alice", "@alice is not the name of a file, so it is text. Write @alice.md to mention it."),
        ("what does @main do", "@main is not the name of a file, so it is text. Write @#main to mention it."),
        (
            "why is @map empty?\n```rb\n@map = {}\n```",
            "@map is the name of a variable, so it is text. Write @map: to mention it.",
        ),
    ],
)
def test_text_with_the_name_of_something_has_a_reason(tmp_path: Path, message: str, reason: str) -> None:
    resolution = resolve(message, tmp_path)
    assert resolution.outcomes == ()
    (outcome,) = resolution.texts
    assert (outcome.status, outcome.reason) == ("text", reason)
    assert message[outcome.mention.start : outcome.mention.end] == outcome.mention.text
    assert text_warnings(resolution.texts) == [reason]


@pytest.mark.parametrize(
    "message",
    [
        "@Override\nvoid run() {}",
        "npm i @types/node",
        "`@tree = 1`",
        "```\n@src/app.py\n```",
        "```\nsee @src/none.py",
        "@bob",
    ],
)
def test_plain_code_and_unknown_names_have_no_reason(tmp_path: Path, message: str) -> None:
    resolution = resolve(message, tmp_path)
    assert resolution.texts == resolution.outcomes == ()


def test_warnings_are_few(tmp_path: Path) -> None:
    message = "\n".join(f"@{kind} = 1" for kind in ("tree", "map", "open", "history", "path", "tree"))
    texts = resolve(message, tmp_path).texts
    assert len(texts) == 5
    assert text_warnings(texts)[2:] == ["These words are text, too: @open, @history."]
