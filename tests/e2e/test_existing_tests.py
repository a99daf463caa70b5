"""The existing tests that a request to write tests shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import write_tree
from lsp import Client, indexed_client

OTHERS = "\n".join(
    f"    def test_other_{n}(self):\n" + "\n".join(f"        assert render({n}, {line})" for line in range(12))
    for n in range(40)
)

WORKSPACE = f"""
-- src/filters.py --
def do_truncate(text, length):
    return text[:length]


def do_center(text, width):
    return text.center(width)
-- tests/test_filters.py --
class TestFilters:
    def test_truncate_at_words(self):
        assert render("{{{{ text|truncate(9) }}}}") == "foo bar"

{OTHERS}
-- src/range.rs --
pub struct LineRange;

impl LineRange {{
    pub fn from(raw: &str) -> LineRange {{
        LineRange::parse(raw)
    }}

    fn parse(raw: &str) -> LineRange {{
        split(raw)
    }}
}}

#[test]
fn rejects_letters() {{
    LineRange::from("a:b");
}}
-- src/mode.rs --
pub enum Mode {{ Never, Always }}

pub fn entries() -> usize {{ 2 }}

#[cfg(test)]
mod tests {{
    #[test]
    fn picks_never() {{
        assert!(super::DEFAULT);
    }}
}}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = write_tree(tmp_path_factory.mktemp("tests") / "app", WORKSPACE)
    with indexed_client(root.parent / "cache", root) as client:
        yield client


@pytest.mark.parametrize(
    ("message", "test"),
    [
        ("write a test for @#do_truncate", "def test_truncate_at_words"),
        ("write a test for @#do_center", "def test_other_0"),
        ("write a test for @#LineRange.parse", "fn rejects_letters"),
        ("write a test for @#Mode", "fn picks_never"),
    ],
    ids=["without the prefix", "long test file", "through a caller", "in the same file"],
)
def test_existing_tests_are_shown(client: Client, message: str, test: str) -> None:
    prompt = client.build(message)["prompt"]
    assert test in prompt
    assert prompt.count("def test_") <= 3


@pytest.mark.parametrize(
    ("question", "is_named"),
    [
        ("write a test for entries", True),
        ("add tests that cover the entries function", True),
        ("write tests for LineRange and entries", True),
        ("please write a test that checks that entries of deleted files go away", False),
        ("we need a test: the entries must stay sorted", False),
    ],
)
def test_plain_word_is_tested_only_at_the_place_of_a_name(client: Client, question: str, is_named: bool) -> None:
    files = [item["path"] for item in client.build(question)["items"] if item["origin"] == "task"]
    assert ("src/mode.rs" in files) is is_named
