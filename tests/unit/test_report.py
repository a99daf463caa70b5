"""Long questions: title, prose and code of a report, without the text of templates."""

from __future__ import annotations

import pytest

from promptls.retrieval.query import CODE_WEIGHT, MIN_WORDS, PROSE_WEIGHT, parse_query, split_report

FILLER = "The upload of large files worked in the release before and nobody changed the configuration since then. " * 3

ISSUE = f"""\
Upload stops after the second retry
<!-- Thank you for the report! Please search for
duplicates first. -->

- [x] I searched the existing issues

### Describe the bug
{FILLER}
The limit in https://example.com/acme/store/blob/main/src/store/retry.py#L10-L12 is ignored, see
https://example.com/wiki/Retries and ![screenshot](https://example.com/images/assets.png).

### How the pool is closed
The pool is closed too early.

### Steps to reproduce
```python
store = Store(attempts=5)
```

**Environment:**
- macOS Sonoma
```
numpy 1.2
```

### Expected behavior
Five attempts.
"""


def test_a_report_has_a_title_prose_and_code() -> None:
    report = split_report(ISSUE)
    assert report.title == "Upload stops after the second retry"
    assert report.code == "store = Store(attempts=5)"
    assert report.prose.split("\n")[-1] == "Five attempts."


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("The upload of large files", True),
        ("src/store/retry.py", True),  # of the address of a file
        ("How the pool is closed", True),  # a heading of its own
        ("The pool is closed too early.", True),
        ("duplicates first", False),  # a comment
        ("existing issues", False),  # a checkbox
        ("Describe the bug", False),  # a heading of the template
        ("wiki", False),  # an address
        ("screenshot", False),  # an image
        ("Sonoma", False),  # the environment
        ("numpy", False),
    ],
)
def test_text_of_templates_is_dropped(text: str, is_kept: bool) -> None:
    assert (text in split_report(ISSUE).text) is is_kept


@pytest.mark.parametrize(
    "question",
    [
        "where is the retry limit?",
        "why does this fail?\n```\nraise Timeout\n```",  # several lines, but short
        "word " * (2 * MIN_WORDS),  # one line
        "<!-- " + "word \n" * (2 * MIN_WORDS),  # nothing remains
        "```\n" + "word \n" * (2 * MIN_WORDS) + "```",  # code alone
    ],
)
def test_other_messages_are_not_reports(question: str) -> None:
    report = split_report(question)
    assert (report.title, report.text) == ("", question)
    assert parse_query(question).term_weights == ()


def test_terms_of_the_title_weigh_most() -> None:
    query = parse_query(ISSUE)
    weights = dict(query.term_weights)
    assert query.title == "Upload stops after the second retry"
    assert weights.get("upload", 1) == 1
    assert weights["pool"] == weights["attempt"] == PROSE_WEIGHT
    assert query.paths == ("src/store/retry.py",)


def test_terms_of_quoted_code_weigh_least() -> None:
    query = parse_query(ISSUE.replace("attempts=5", "backoff=5"))
    assert dict(query.term_weights)["backoff"] == CODE_WEIGHT
