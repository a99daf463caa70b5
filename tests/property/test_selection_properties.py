"""Properties of a language model's choice of regions: within the list for any answer, and without pasted code sent."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.context.selection import MAX_CHOSEN, MAX_QUERIES, parse_choice, redact_question

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20) | st.sampled_from(["3-5", "#7", "1e9"]),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
FIELDS = st.sampled_from(["regions", "numbers", "queries", "REGIONS", "query", "chosen"])
ANSWERS = (
    st.text(max_size=200)
    | st.builds(lambda d, before, after: before + json.dumps(d) + after, st.dictionaries(FIELDS, JSON), st.text(), st.text())
    | st.lists(st.sampled_from(['{"regions": [1', "]", "}", "{", "```json\n", "```", "[", "99999999", "1e999", "3-1"])).map("".join)
)  # fmt: skip


@given(ANSWERS, st.integers(0, 130))
def test_choice_is_within_the_list_for_any_answer(answer: str, last: int) -> None:
    choice = parse_choice(answer, last)
    if choice is None:
        return
    assert all(1 <= number <= last for number in choice.numbers)
    assert len(set(choice.numbers)) == len(choice.numbers) <= MAX_CHOSEN
    assert len(choice.queries) <= MAX_QUERIES
    for query in choice.queries:
        assert re.fullmatch(r"[\w.:/+# -]{1,400}", query)


@given(
    st.lists(st.sampled_from(["```\n", "~~~py\n", "    code\n", "\tcode\n", "words\n", "\n", "    \n", "é"])).map(
        "".join
    )
)
def test_no_line_of_code_is_sent(text: str) -> None:
    sent = redact_question(text + "\n")
    assert len(sent) <= 4003
    runs = re.findall(r"(?m)(?:^(?: {4}|\t)code\n){2,}", sent)
    assert runs == []
