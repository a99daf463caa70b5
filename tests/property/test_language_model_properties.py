"""Properties of interpretations for any answer of a model: bounded, and with valid names only."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from promptls.model import CancelToken, Problem
from promptls.prompt.intent import Interpretation
from promptls.prompt.intent.types import ACTIONS, QUESTION_TYPES
from promptls.prompt.language_model import LanguageModel, interpret_question, redact_question
from promptls.prompt.language_model.interpret import MAX_TERMS

CATEGORIES = ("api", "error handling")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.sampled_from(["api", "fix", "a b c d", "high", "0.5"]),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
FIELDS = st.sampled_from(["codebase", "confidence", "categories", "types", "action", "terms", "TERMS", "searchTerms"])
ANSWERS = (
    st.text(max_size=200)
    | st.builds(lambda d, before, after: before + json.dumps(d) + after, st.dictionaries(FIELDS, JSON), st.text(), st.text())
    | st.lists(st.sampled_from(['{"terms": ["a"', "]", "}", "{", "```json\n", "```", "[", '"', "1e999", "\\u0000"])).map("".join)
)  # fmt: skip


@given(ANSWERS)
def test_interpretation_is_within_bounds_for_any_answer(answer: str) -> None:
    model = LanguageModel(lambda messages, max_tokens, token: answer, "m")
    found = interpret_question("x", CATEGORIES, model, CancelToken())
    if isinstance(found, Problem):
        return
    assert found.confidence is None or 0 <= found.confidence <= 1
    assert found.about_codebase in (None, True, False)
    assert set(found.categories) <= set(CATEGORIES) and len(set(found.categories)) == len(found.categories)
    assert found.types == tuple(t for t in QUESTION_TYPES if t in found.types)
    assert found.action in (None, *ACTIONS)
    assert len(found.terms) <= MAX_TERMS
    for term in found.terms:
        assert len(term.split(" ")) <= 3
        assert re.fullmatch(r"[\w.:/+# -]{1,150}", term)
    assert found != Interpretation()


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
