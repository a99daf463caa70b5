"""Verification of the citations of an answer against the prompt and the workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.model import Span
from promptls.prompt.rendering.citations import CitableItem, verify

ITEMS = [
    CitableItem("P1", "src/cart.py", Span(9, 20)),
    CitableItem("P2", "src/money.py", Span(0, 5)),
    CitableItem("P3", "README.md", Span(0, 2)),
]
FILES = {"src/cart.py": 40, "src/money.py": 5, "README.md": 2, "src/other.py": 9}


def report_lines(answer: str) -> list[str]:
    return [f"{c.citation or c.path} {c.status}" for c in verify(answer, ITEMS, FILES.get).citations]


@pytest.mark.parametrize(
    ("answer", "expected"),
    {
        "The cart adds up [P1].": ["P1 ok"],
        "It rounds [P2, P3].": ["P2 ok", "P3 ok"],
        "All of it [P1-P3] [P2–P3].": ["P1 ok", "P2 ok", "P3 ok", "P2 ok", "P3 ok"],
        "Made up [P4].": ["P4 unknown"],
        "See src/cart.py:12 and cart.py:10-20.": ["P1 ok", "P1 ok"],
        "See src/cart.py#L12-L14.": ["P1 ok"],
        "See src/cart.py:30.": ["src/cart.py not shown"],
        "See src/cart.py:41.": ["src/cart.py no such lines"],
        "See src/other.py:3.": ["src/other.py not shown"],
        "See src/gone.py:3.": ["src/gone.py no such file"],
        "No citation, p1, [p1], array[P], http://a.example/x.py:80, 12:30.": [],
    }.items(),
)
def test_status_of_citations(answer: str, expected: list[str]) -> None:
    assert report_lines(answer) == expected


def test_invalid_citations_and_unused_items_are_listed() -> None:
    verdict = verify("It adds up [P1]. It is fast [P9] [P9]. Nobody says so.", ITEMS, FILES.get)
    assert verdict.unknown == ("P9",)
    assert verdict.unused == ("P2", "P3")
    assert verdict.cited_share == pytest.approx(1 / 3, abs=1e-3)


def test_invalid_citation_has_a_reason() -> None:
    answer = "See [P7], [P1-P900], src/cart.py:41, src/cart.py:0, src/cart.py:30, src/gone.py:3."
    assert [(c.text, c.reason) for c in verify(answer, ITEMS, FILES.get).citations] == [
        ("[P7]", "the prompt has no item P7"),
        ("[P1-P900]", "the range has more than 100 labels"),
        ("src/cart.py:41", "src/cart.py has 40 lines"),
        ("src/cart.py:0", "lines are counted from 1"),
        ("src/cart.py:30", "these lines were not in the prompt"),
        ("src/gone.py:3", "there is no file src/gone.py in the workspace"),
    ]


def test_location_may_span_two_adjacent_items() -> None:
    items = [
        CitableItem("P1", "a.py", Span(0, 10)),
        CitableItem("P2", "a.py", Span(10, 20)),
        CitableItem("P3", "a.py", Span(30, 40)),
    ]
    found = verify("a.py:5-15, a.py:15-35 and a.py:12", items).citations
    assert [(c.status, c.citation) for c in found] == [("ok", "P1"), ("not shown", ""), ("ok", "P2")]


def test_elided_lines_are_not_shown() -> None:
    items = [
        CitableItem("P1", "a.py", Span(6, 23), spans=(Span(6, 8), Span(13, 23))),
        CitableItem("P2", "b.py", Span(0, 40), spans=()),  # its outline
    ]
    found = verify("a.py:7-8, a.py:14, a.py:10-12, a.py:7-23, b.py:3 [P2]", items).citations
    assert [c.status for c in found] == ["ok", "ok", "not shown", "not shown", "not shown", "ok"]


@pytest.mark.parametrize(
    "path", ["app/(shop)/[id]/page.tsx", "routes/users.$id.tsx", "my notes.md", "shop:src/a.py", "terminal (2)", "a:b/c d.c"]
)  # fmt: skip
def test_paths_are_recognized_in_any_spelling(path: str) -> None:
    items = [CitableItem("P1", path, Span(0, 3)), CitableItem("P2", "other.md", Span(0, 3))]
    answer = f"The page is in {path}:1-3, `{path}#L2` and {path.rpartition('/')[2]}:3; x{path}:1 is none."
    found = verify(answer, items).citations
    assert [(c.status, c.citation, c.path) for c in found if c.path == path] == [("ok", "P1", path)] * 3
    assert verify("See (shop)/[id]/page.tsx:1, users.$id.tsx:1 and src/a.py:2.", items[1:]).unknown == ("src/a.py:2",)
    assert (
        verify("It is :2.", [CitableItem("P1", "src/", Span(0, 3)), CitableItem("P2", "", Span(0, 3))]).citations == ()
    )


def test_quoted_code_is_searched_in_the_cited_items() -> None:
    items = [
        CitableItem("P1", "a.py", Span(0, 2), "def total(self):\n    return  sum(self.items)"),
        CitableItem("P2", "b.py", Span(0, 1), "TAX = 19"),
    ]
    answer = (
        "`total()` gives `return sum(self.items)` and `TAX` [P1]. `TAX` is set in `b.py` [P2]. `a.py:1` has `total`."
    )
    assert [(c.text, c.missing) for c in verify(answer, items).citations] == [
        ("[P1]", ("TAX",)),
        ("[P2]", ()),
        ("a.py:1", ()),
    ]
    assert next(c.missing for c in verify(answer, [CitableItem("P1", "a.py", Span(0, 2))]).citations) == ()


def test_claims_without_citation_are_listed() -> None:
    answer = (
        "# The cart\n\nIt adds up, e.g. at the end [P1]. It rounds too. [P2] Nobody says this here.\n"
        "- The first item says something [P1]\n- The second one says more\n\nWhat does it do? It does the following:\n"
    )
    verdict = verify(answer, ITEMS)
    assert [answer[slice(*span)].strip() for span in verdict.uncited] == [
        "Nobody says this here.",
        "- The second one says more",
    ]
    assert verdict.cited_share == pytest.approx(3 / 5)


def test_hostile_answer_is_verified() -> None:
    answer = "a" * 200_000 + "[" * 50_000 + "`" * 50_000 + "a/" * 50_000 + "[P1, " * 20_000 + "." * 50_000
    assert verify(answer, ITEMS, FILES.get).citations == ()


@given(st.text("[]P1234,-–; :.#Lsrc/py\n", max_size=80))
def test_any_text_is_accepted(answer: str) -> None:
    verdict = verify(answer, ITEMS, FILES.get)
    assert 0 <= verdict.cited_share <= 1
    for citation in verdict.citations:
        assert answer[citation.start :].startswith(citation.text)
        assert citation.status != "ok" or citation.citation in {"P1", "P2", "P3"}
