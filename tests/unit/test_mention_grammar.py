"""Grammar of mentions: one message per case, and the mentions parsed from it."""

from __future__ import annotations

import pytest

from promptls.mentions.syntax.grammar import LAST_LINE, is_explicit_reference, parse, strip_mentions, utf16_offset
from promptls.mentions.syntax.lexer import token_at_end
from promptls.model import Mention


def shown(message: str, keywords: dict[str, str] | None = None) -> list[str]:
    """Return the mentions as "kind target lines", with root and scope if present."""
    mentions = parse(message) if keywords is None else parse(message, keywords)
    for mention in mentions:
        assert message[mention.start : mention.end] == mention.text
    return [_line(mention) for mention in mentions]


def _line(mention: Mention) -> str:
    place = f"{mention.root}:" if mention.root else ""
    scope = f"{mention.scope}#" if mention.scope else ""
    lines = ""
    if mention.lines is not None:
        end = "" if mention.lines.end == LAST_LINE else str(mention.lines.end)
        lines = f" {mention.lines.start + 1}-{end}"
    return f"{mention.kind} {place}{scope}{mention.target}{lines}"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        # files
        ("@src/a.py", "file src/a.py"),
        ("@a.py", "file a.py"),
        ("@/src/a.py", "file /src/a.py"),
        ("@.gitignore", "file .gitignore"),
        ('@"path with spaces.py"', "file path with spaces.py"),
        ("@path\\ with\\ spaces.py", "file path with spaces.py"),
        ('@"say \\"hi\\".py"', 'file say "hi".py'),
        ("@a\\:b\\#c.py", "file a:b#c.py"),
        ("@src\\a.py", "file src\\a.py"),
        ("@C:/work/a.py:10", "file C:/work/a.py 10-10"),
        ("@\\\\host\\share\\a.py", "file \\\\host\\share\\a.py"),
        ("@@foo", "file @foo"),
        ('@@"foo bar"', "file @foo bar"),
        ("@app/[slug]/page.tsx", "file app/[slug]/page.tsx"),
        ("@app/(group)/page.tsx", "file app/(group)/page.tsx"),
        ("@[...slug].ts", "file [...slug].ts"),
        ("@{{name}}/setup.py", "file {{name}}/setup.py"),
        ("@src/{a,b}.py", "file src/{a,b}.py"),
        ("@src/{a,{b,c}}{d,e}.py", "file src/{a,{b,c}}{d,e}.py"),
        ("@src/{a, b}.py", "folder src"),
        ("@größe/日本語.py", "file größe/日本語.py"),
        ("@src/lib$types+page.svelte", "file src/lib$types+page.svelte"),
        # lines, 1-based and inclusive
        ("@a.py:10-20", "file a.py 10-20"),
        ("@a.py:10", "file a.py 10-10"),
        ("@a.py:10-", "file a.py 10-"),
        ("@a.py:10:5", "file a.py 10-10"),
        ("@a.py:L10-L20", "file a.py 10-20"),
        ("@a.py#L10", "file a.py 10-10"),
        ("@a.py#L10-L20", "file a.py 10-20"),
        ("@a.py#L10:20", "file a.py 10-20"),
        ("@a.py#L10C3-L20C9", "file a.py 10-20"),
        ('@"a b.py":10-20', "file a b.py 10-20"),
        ("@a.py:99999999999999999999", f"file a.py {LAST_LINE}-"),
        # symbols
        ("@#Name", "symbol Name"),
        ("@#Class.method", "symbol Class.method"),
        ("@std::vector", "symbol std::vector"),
        ("@src/a.py#Name", "symbol src/a.py#Name"),
        ("@src/lib.rs::module::name", "symbol src/lib.rs#module::name"),
        ("@tests/test_a.py::TestX::test_y", "symbol tests/test_a.py#TestX::test_y"),
        ("@src/a.py:name", "symbol src/a.py#name"),
        ('@README.md#"Getting started"', "symbol README.md#Getting started"),
        ('@"my notes.md"#"A b"', "symbol my notes.md#A b"),
        ("@root:src/a.py#Name", "symbol root:src/a.py#Name"),
        ("@#operator==", "symbol operator=="),
        # folders and roots
        ("@dir/", "folder dir"),
        ('@"my dir"/', "folder my dir"),
        ("@root:src/a.py", "file root:src/a.py"),
        ('@"my root":src/a.py', "file my root:src/a.py"),
        ("@root:dir/", "folder root:dir"),
        ("@root:", "workspace root:"),
        ("@/", "workspace "),
        ("@workspace", "workspace "),
        ("@workspace:src/a.py", "file workspace:src/a.py"),
        # editor state
        ("@active", "active "),
        ('@"open"', "file open"),
        ("@opened", "file opened"),
    ],
)
def test_one_mention(message: str, expected: str) -> None:
    assert shown(message) == [expected]
    assert shown(f"why does {message} do that?") == [expected]
    assert shown(f"first line\n{message}\nlast line") == [expected]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("(@a.py) [@b.py] {@c.py}", ["file a.py", "file b.py", "file c.py"]),
        ("\"@a.py\" '@b.py' “@c.py”", ["file a.py", "file b.py", "file c.py"]),
        ("is it @a.py? yes, @b.py! and @c.py: …", ["file a.py", "file b.py", "file c.py"]),
        ("@a.py's lines", ["file a.py"]),
        ("@a.py:10-20, then @a.py:30.", ["file a.py 10-20", "file a.py 30-30"]),
        ("**@src/a.py** and <@b.py>", ["file src/a.py", "file b.py"]),
        ("@a.py,@b.py;@c.py", ["file a.py", "file b.py", "file c.py"]),
        ("看，@a.py。还有（@b.py）", ["file a.py", "file b.py"]),
        ("@a.py\r\n@b.py\r\n", ["file a.py", "file b.py"]),
        ("@selection. @active: @open", ["selection ", "active ", "open "]),
        ('an open quote @"src/a.py and text', ["file src/a.py"]),
        ("@a.py... @b.py…", ["file a.py", "file b.py"]),
        ("@app/(open and @b.py", ["folder app", "file b.py"]),
        ("@dir\\\n@b.py", ["folder dir", "file b.py"]),
    ],
)
def test_mentions_among_punctuation(message: str, expected: list[str]) -> None:
    assert shown(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "",
        "@",
        "@@",
        "@ a.py",
        "@. @, @: @! @) @#",
        "mail bob@example.com or <bob@example.com>",
        "https://x.org/@user/post",
        "`@a.py`",
        "``@a.py ` @b.py``",
        "a `code @a.py\nspan` over lines",
        "```\n@a.py\n```",
        "~~~\n@a.py\n```\n@b.py\n~~~",
        "````\n```\n@a.py\n````",
        "- item\n  ```\n  @a.py\n  ```",
        "```\nnever closed @a.py",
        "@" + "x" * 300,
        "diff @@ -1,5 +1,6 @@ def f():",
    ],
)
def test_text_without_mentions(message: str) -> None:
    assert shown(message) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("`a` @a.py `b`", ["file a.py"]),
        ("a stray ` before @a.py", ["file a.py"]),
        ("`no\n\nspan: @a.py", ["file a.py"]),
        ("a `\n\n` @a.py", ["file a.py"]),
        ("```\ncode\n``` \n@a.py", ["file a.py"]),
        ("``` inline @a.py ``` @b.py", ["file b.py"]),
        ("\\`@a.py `", ["file a.py"]),
    ],
)
def test_code_ends_as_in_markdown(message: str, expected: list[str]) -> None:
    assert shown(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        # CommonMark
        ("- ```py\n  @x.py\n  ```\n@a.py", ["file a.py"]),
        ("1. run\n\n   ~~~\n   @x.py\n   ~~~\n2. @a.py", ["file a.py"]),
        ("> ```\n> @x.py\n\n@a.py", ["file a.py"]),
        ("> a `b\n> @x.py` c @a.py", ["file a.py"]),
        ("```\r@x.py\r```\r@a.py", ["file a.py"]),
        ("see\n\n    @x.py\n\nand @a.py", ["file a.py"]),
        ("- see\n\n    @a.py", ["file a.py"]),
        ("see\n    @a.py", ["file a.py"]),
        ("    @a.py\n\n    @b.py", ["file a.py", "file b.py"]),  # all lines are indented
        ("# `@x.py\n# ` @a.py", ["file x.py", "file a.py"]),
        ("``@x.py`` `@y.py\n@z.py` @a.py", ["file a.py"]),
        ("<details>\n\n```\n@x.py\n```\n\n</details>\n@a.py", ["file a.py"]),
        ("the ` key @a.py, then ` again", ["file a.py"]),  # CommonMark: a code span
        ("` @x.py ` and @a.py", ["file a.py"]),
        # HTML elements for code
        ("<pre>\n@x.py\n</pre>\n@a.py", ["file a.py"]),
        ("see <code>@x.py</code> and @a.py", ["file a.py"]),
        # fences that CommonMark reads differently from what their author means
        ("Code: ```py\n@x.py\n\n@y.py\n```\n@a.py", ["file a.py"]),
        ("```\n@x.py```\n@a.py", ["file a.py"]),
        ("```\n@x.py\n``` explain @a.py", ["file a.py"]),
        ("```\ny = 1``` explain @a.py\n```\n@x.py\n```", ["file a.py"]),
        ("- ```py\n@x.py\n```\n@a.py", ["file a.py"]),
        ("```\n@x.py\n    ```\n@a.py", ["file a.py"]),
        # the second reading must not be taken where CommonMark leaves nothing over
        ("```sh\necho '```'\n@x.py\n```\n@a.py", ["file a.py"]),
        ("```py\nx\n```js\n@x.py\n```\n@a.py", ["file a.py"]),
        ("a ```b``` c\n```\n@x.py\n```\n@a.py", ["file a.py"]),
    ],
)
def test_code_around_mentions(message: str, expected: list[str]) -> None:
    assert shown(message) == expected


def test_a_quoted_mention_may_contain_backticks() -> None:
    assert shown('@"a`b.py" and @"c`d.py" and `@x.py`') == ["file a`b.py", "file c`d.py"]


@pytest.mark.parametrize(
    "message", ["@alice", "@Override", "@app.route", "@types/node", "@babel/core@7.1.0", "@v1.2.3", "@nobody: hello"]
)
def test_text_that_is_not_an_explicit_reference(message: str) -> None:
    assert not any(is_explicit_reference(mention) for mention in parse(message))


@pytest.mark.parametrize(
    "message",
    ["@a.py", "@Src/A", "@a.tsx", "@.env", "@#Name", "@x::y", "@a:1-2", "@dir/", "@../x", "@src\\a", "@active"],
)
def test_explicit_references(message: str) -> None:
    assert all(is_explicit_reference(mention) for mention in parse(message))


def test_kinds_with_an_argument() -> None:
    keywords = {"diff": "optional", "problems": "nothing", "commit": "required"}
    assert shown("@diff @diff:main..dev @problems @problems:x @diff. @commit @commit:1a2b", keywords) == [
        "diff ",
        "diff main..dev",
        "problems ",
        "file problems:x",
        "diff ",
        "file commit",
        "commit 1a2b",
    ]


def test_scope_before_a_quoted_argument() -> None:
    keywords = {"text": "required"}
    found = parse('@text:"a b" @text:src/:"a: b" @text:x:y @text:"src/:x"', keywords)
    assert [(m.scope, m.target) for m in found] == [("", "a b"), ("src/", "a: b"), ("", "x:y"), ("", "src/:x")]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("explain @src/a.py please", "explain please"),
        ("explain @#Server.run in @src/a.py", "explain Server.run in"),
        ("why is @src/a.py#Cart.total slow?", "why is Cart.total slow?"),
        ("@a.py\n@b.py\nwhat is this?", "what is this?"),
        ("compare (@a.py) with @selection, mail a@b.c", "compare () with, mail a@b.c"),
        ("nothing here", "nothing here"),
    ],
)
def test_strip_mentions(message: str, expected: str) -> None:
    assert strip_mentions(message, parse(message)) == expected


def test_utf16_offsets() -> None:
    message = "😀 @a.py 𝒳"
    (mention,) = parse(message)
    assert (mention.start, utf16_offset(message, mention.start)) == (2, 3)
    assert utf16_offset(message, mention.end) == 8


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("ask @src/a.", "src/a."),
        ('@"my fi', "my fi"),
        ("@a.py:", "a.py:"),
        ("@(gro", "(gro"),
        ("请看@src/ap", "src/ap"),
        ("@a.py和@src/b", "src/b"),
        ("@done.py and ", None),
        ("mail a@b", None),
        ("```\n@x", None),
        ("Code: ```py\nx\n```\n@x", "x"),
        ("`a` @x", "x"),
        ("`@x", "x"),
    ],
)
def test_token_at_the_cursor(typed: str, value: str | None) -> None:
    token = token_at_end(typed)
    assert (token.value if token is not None else None) == value
