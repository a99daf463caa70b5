"""Properties of intent detection for any question: valid, deterministic, never against mentions."""

from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.intent import ACTIONS, GENERAL, QUESTION_TYPES, SCOPES
from promptls.prompt.intent.categories import category_names
from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval.query import parse_query

WORDS = (
    *(
        "login", "database", "tests", "without", "not", "don't", "ignore", "no", "except", "why", "how", "do", "I",
        "fix", "add", "and",
    ),
    *(
        "the",
        "hi",
        "thanks",
        "joke",
        "parse_header",
        "src/app.py",
        "autentication",
        "`Foo.bar`",
        ",",
        ".",
        "\n",
        "?",
        "ログイン",
        "不要",
        "数据库",
    ),
)  # fmt: skip
questions = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))


@given(questions)
def test_intent_is_valid_and_deterministic(text: str) -> None:
    intent = detect_intent(text, text)
    assert intent == detect_intent(text, text)
    assert 0.5 <= intent.confidence <= 1
    assert intent.action in ACTIONS and intent.scope in SCOPES
    assert list(intent.types) == [t for t in QUESTION_TYPES if t in intent.types]
    names = [c.name for c in intent.categories]
    assert len(set(names)) == len(names) and set(names) <= set(category_names())
    assert all(0 < c.confidence < 1 for c in intent.categories)
    confidences = [c.confidence for c in intent.categories]
    assert confidences == sorted(confidences, reverse=True)
    likely = [c.name for c in intent.categories if c.is_likely]
    assert GENERAL not in likely or likely == [GENERAL]


@given(questions)
def test_exclusion_only_removes_terms(text: str) -> None:
    plain, query = parse_query(text), detect_intent(text, text).query
    assert set(query.terms) <= set(plain.terms)
    assert set(query.terms) | set(query.excluded) == set(plain.terms)
    assert bool(query.terms) == bool(plain.terms)
    assert query.text == plain.text and query.paths == plain.paths
