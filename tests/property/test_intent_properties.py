"""Whatever is asked: an answer, the same each time, and mentions are never lost to it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.prompt.intent import ACTIONS, TYPES, category_names, parity, understand
from promptls.prompt.intent.entities import SCOPES
from promptls.prompt.intent.topics import GENERAL
from promptls.retrieval.query import analyse

WORDS = (
    *(
        "login",
        "database",
        "tests",
        "without",
        "not",
        "don't",
        "ignore",
        "no",
        "except",
        "why",
        "how",
        "do",
        "I",
        "fix",
        "add",
        "and",
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
)
questions = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))


@given(questions)
def test_every_question_has_a_reading(text: str) -> None:
    intent = understand(text, text)
    assert intent == understand(text, text)
    assert 0.5 <= intent.confidence <= 1
    assert intent.action in ACTIONS and intent.scope in SCOPES
    assert list(intent.types) == [t for t in TYPES if t in intent.types]
    names = [c.name for c in intent.categories]
    assert len(set(names)) == len(names) and set(names) <= set(category_names())
    assert all(0 < c.confidence < 1 for c in intent.categories)
    sure = [c.confidence for c in intent.categories]
    assert sure == sorted(sure, reverse=True)
    assert GENERAL not in intent.topics or len(intent.topics) == 1


@given(questions)
def test_a_mention_is_about_the_code(text: str) -> None:
    assert understand(text + " @src/app.py", text).codebase


@given(questions)
def test_excluding_only_takes_away(text: str) -> None:
    plain, query = analyse(text), understand(text, text).query
    assert set(query.terms) <= set(plain.terms)
    assert set(query.terms) | set(query.excluded) == set(plain.terms)
    assert bool(query.terms) == bool(plain.terms)
    assert query.text == plain.text and query.paths == plain.paths


@given(questions)
def test_excluded_words_stand_in_the_question(text: str) -> None:
    intent = understand(text, text)
    assert all(word in text.lower() or word in text for word in intent.negated)


@given(questions)
def test_parity_classifiers_answer(text: str) -> None:
    got = parity.classify(text)
    assert got.confidence == parity.CONFIDENCE[got.label]
    assert got.score >= 0
    assert len(parity.keywords(text)) <= 10
    assert len(parity.fallback(text).keywords) <= 5


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["a", "a.", "a/", "-", "\n", " ", "not ", "how is ", "`", "(", "'", "é", "login "]),
    st.integers(1, 20_000),
)
def test_long_questions_are_read_in_part(piece: str, count: int) -> None:
    assert understand(piece * count, piece * count).action in ACTIONS
