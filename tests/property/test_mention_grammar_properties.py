"""Grammar of mentions: properties for any text and any name."""

from __future__ import annotations

import unicodedata

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptls.mentions.syntax.grammar import (
    LAST_LINE,
    format_mention,
    is_explicit_reference,
    parse,
)
from promptls.model import Span

PIECES = [
    "@", "@@", "@#", "a.py", "src/", "\\", "\\ ", '"', "'", "`", "```", "~~~", "\n", "\r\n", " ", ":", "::", "#", "#L",
    "10", "-", "20", "(", ")", "[", "]", "{", "}", ".", ",", "root", "open", "C:", "😀", "é", "e\u0301", "\u2028", "\0",
    "\ud800", "@src/a.py:10-20", '@"x y"', "*", "<", ">", "//", "。", "workspace",
]  # fmt: skip
MESSAGES = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))

SPECIAL_NAMES = st.text(
    st.one_of(st.sampled_from(" .:#@'\"`\\%()[]{}-~*?!,;+=&$^|<>é😀/_aB1"), st.characters(exclude_characters="/")),
    min_size=1,
    max_size=30,
)


def tidy(path: str) -> str | None:
    """Return the text as a valid relative path, or None."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or None


@given(MESSAGES)
@settings(max_examples=1500)
def test_mentions_are_substrings_of_any_text(message: str) -> None:
    end = 0
    for mention in parse(message):
        assert end <= mention.start < mention.end <= len(message)
        assert message[mention.start : mention.end] == mention.text
        assert mention.text[0] == "@"
        assert "\n" not in mention.text
        assert "\r" not in mention.text
        assert len(mention.text) <= 251
        assert mention.lines is None or 0 <= mention.lines.start < mention.lines.end <= LAST_LINE
        assert mention.target or mention.kind in ("workspace", "active", "selection", "open")
        is_explicit_reference(mention)
        end = mention.end


@given(MESSAGES)
@settings(max_examples=300)
def test_text_before_a_mention_does_not_change_it(message: str) -> None:
    assume("`" not in message and "~" not in message)
    for before in ("why? ", "first line\n", "mail a@b.c ", "(", "`code` "):
        moved = parse(before + message)
        assert [m.text for m in moved] == [m.text for m in parse(message)]


@given(
    SPECIAL_NAMES, st.sampled_from(["", "root", "my root", "a:b", "C"]), st.sampled_from(["file", "folder", "lines"])
)
@settings(max_examples=1500)
def test_formatted_paths_are_parsed_back(name: str, root: str, form: str) -> None:
    path = tidy(name)
    assume(path is not None)
    assert path is not None
    lines = Span(2, 9) if form == "lines" else None
    text = format_mention(path, root, folder=form == "folder", lines=lines)
    if text is None:
        assert any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in path)
        return
    for message in (text, f"see {text} there", f"({text}), and\n{text}\n", f"{text}. {text}? {text}"):
        for mention in parse(message):
            assert (mention.text, mention.root, mention.lines) == (text, root, lines)
            assert mention.target.removeprefix("./") == path
            assert mention.kind == ("folder" if form == "folder" else "file")
        assert len(parse(message)) == message.count(text)


@given(SPECIAL_NAMES, st.sampled_from(["", "src/a.py", "my dir/a b.py", "a#b.py"]))
@settings(max_examples=800)
def test_formatted_symbols_are_parsed_back(name: str, path: str) -> None:
    text = format_mention(path, symbol=name)
    if text is None:
        assert any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name)
        return
    (mention,) = parse(f"see {text} there")
    assert (mention.text, mention.kind, mention.target, mention.scope) == (text, "symbol", name, path)
