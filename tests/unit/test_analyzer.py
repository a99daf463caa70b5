import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptls.index.search.analyzer import find_words, split_identifier, tokenize, tokenize_word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPRequest2", "pars http request parsehttprequest2"),
        ("handle_ping", "handl ping handle_ping"),
        ("__init__", "init"),
        ("self._cache.get(x)", "self cach"),
        ("the sessions are saved", "session save"),
        ("ÜberGroße", "über große übergroße"),
        ("日本語 text", "日本 本語 日本語 text"),
        ("計算する。", "計算 算す する 計算する"),
        ("재고를 센다", "재고 고를 재고를 센다"),
        ("สินค้า", "สิ ิน นค ค้ ้า สินค้า"),
        ("库", "库"),
        ("用户loginToken令牌", "用户 login token logintoken 令牌"),
        ("查询" * 7, "查询 询查 " * 6 + "查询"),
        ("считает остатки", "считает остатки"),
        ("SHA256 v2", "sha 256 sha256 v2"),
        ("x = 1", ""),
        ("a" * 65, ""),
    ],
)
def test_tokenize(text: str, expected: str) -> None:
    assert tokenize(text) == expected.split()


@pytest.mark.parametrize(
    ("question", "comment"),
    [
        ("审批流程在哪里", "采购订单自动审批流程"),
        ("재고 수량은", "창고 재고 수량을 센다"),
        ("在庫の数", "在庫の数を数える"),
    ],
)
def test_parts_of_sentences_without_spaces_match(question: str, comment: str) -> None:
    assert len(set(tokenize(question)) & set(tokenize(comment))) >= 2


def test_query_words_match_identifiers() -> None:
    assert set(tokenize("saving session cookies")) <= set(tokenize("def save_sessionCookie(self): ..."))


@given(st.text())
def test_terms_are_lower_case_without_spaces(text: str) -> None:
    assert all(term and " " not in term and term == term.lower() for term in tokenize(text))


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,30}", fullmatch=True))
def test_parts_contain_all_letters_and_digits(name: str) -> None:
    assert "".join(split_identifier(name)) == name.replace("_", "").lower()


@given(st.text(max_size=80))
@example("A·0")
def test_tokenize_word_equals_tokenize(word: str) -> None:
    # "·" is allowed in a Python identifier but separates the words of a text.
    if find_words(word) == [word]:
        assert list(tokenize_word(word)) == tokenize(word)


@given(st.text(alphabet="aZ_09 .-\n", max_size=60))
def test_words_of_an_ascii_text_do_not_depend_on_other_text(text: str) -> None:
    assert find_words(f"{text} é") == [*find_words(text), "é"]
