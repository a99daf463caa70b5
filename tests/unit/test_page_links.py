"""Links and lines of pages."""

from __future__ import annotations

import pytest

from promptls.api.pages import Page, PageLine, Region, item_row, prompt_page
from promptls.lsp.open_pages import OpenPage
from promptls.lsp.pages import page_links

LINES = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
REGION = Region("file:///a.py", LINES, "a.py")


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("  -       31  by meaning, 3.9 %  1  [pin] [drop]", "1", 33),
        ("-    141  by meaning, 1.9 %  a.py:1  [pin] [drop]", "a.py:1", 29),
        ("- ✓ @a.py  245 tokens", "@a.py", 4),
        ("called in (a.py:1)", "a.py:1", 11),
    ],
)
def test_link_of_a_row_is_its_place_and_not_a_number_before_it(text: str, label: str, expected: int) -> None:
    page = OpenPage("prompt", {}, False, Page("Prompt", (PageLine(text, REGION, label),)), {})
    (link,) = page_links(page, "promptls-page:/1/Prompt.md", "utf-16")
    assert link["range"]["start"]["character"] == expected
    assert link["range"]["end"]["character"] == expected + len(label)


def test_row_of_an_item_has_each_name_once() -> None:
    parts = [{"symbol": name} for name in ("Gauge", "Gauge", "Gauge.read")]
    item = {"path": "a.swift", "range": LINES, "kind": "text", "tokens": 3, "form": "full", "why": "mentioned"}
    assert item_row({**item, "joined": parts}).endswith("a.swift:1  Gauge, Gauge.read")


def test_name_of_a_file_is_one_line() -> None:
    item = {"uri": "file:///x", "path": "a\n## Text\x1b[31m.py", "range": LINES, "kind": "text", "tokens": 3}
    result = {
        "tokens": {"used": 3, "budget": 9, "counter": "estimate", "exact": False, "sections": {"context": 3}},
        "trace": {"line": "1 item"},
        "index": {"complete": 1},
        "warnings": ["first\nsecond"],
        "mentions": [],
        "items": [{**item, "form": "full", "why": "by meaning, 5.0 %"}],
        "omitted": [{**item, "reason": "over the budget"}],
        "prompt": "text",
    }
    page = prompt_page(result)
    assert len(page.text.splitlines()) == len(page.lines)
    assert [line.text for line in page.lines].count("## Text") == 1
    assert "\x1b" not in page.text
    links = page_links(OpenPage("prompt", {}, False, page, result), "promptls-page:/1/Prompt.md", "utf-16")
    assert len(links) == 1 + 3 + 1 + 1  # the place and the buttons of the item, and of what was left out
