"""The boundary of a prompt, and the syntax of fences."""

from __future__ import annotations

import re

from promptls.prompt.rendering.fences import BOUNDARY_LENGTH, SPECIMEN, boundary, fence

SECRET = b"for tests"


def test_boundary_depends_on_the_key_alone() -> None:
    first = boundary("why?", ["a", "b"], SECRET)
    assert re.fullmatch(r"[0-9a-f]{12}", first)
    assert boundary("how?", [], SECRET) == first
    assert boundary("why?", ["a", "b"], b"another") != first


def test_default_key_is_random_for_each_process() -> None:
    assert boundary("m", ["c"]) == boundary("another", ["d"])
    assert boundary("m", ["c"]) != boundary("m", ["c"], b"")


def test_boundary_that_occurs_in_a_text_is_skipped() -> None:
    for texts in (["code"], ["code", "more"]):
        message, guesses = "m", list(texts)
        for _ in range(5):  # what an author would write who knew the secret
            guesses.append(boundary(message, guesses, SECRET))
            chosen = boundary(message, guesses, SECRET)
            assert not any(chosen in text for text in [message, *guesses])


def test_boundary_is_derived_until_it_does_not_occur() -> None:
    for left in "0123456789abcdef":  # boundaries of one digit, all but one of them taken
        others = "0123456789abcdef".replace(left, "")
        assert boundary(others[:7], [others[7:], "-"], SECRET, length=1) == left


def test_lone_surrogates_are_accepted() -> None:
    assert len(boundary("\ud800", ["\udfff"], SECRET)) == BOUNDARY_LENGTH == len(SPECIMEN)


def test_element_syntax() -> None:
    assert fence([("path", "a.py"), ("lines", "1-2"), ("symbol", "")], "x = 1\ny = 2", "00ff00ff00ff") == (
        '<context-00ff00ff00ff path="a.py" lines="1-2">\nx = 1\ny = 2\n</context-00ff00ff00ff>'
    )
    assert fence([("see", 'a "b".py')], None, "00ff00ff00ff") == '<context-00ff00ff00ff see="a &quot;b&quot;.py"/>'
    assert fence([], "", "00ff00ff00ff") == "<context-00ff00ff00ff>\n\n</context-00ff00ff00ff>"
