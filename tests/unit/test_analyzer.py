import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search.analyzer import parts, terms, word_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPRequest2", "pars http request parsehttprequest2"),
        ("handle_ping", "handl ping handle_ping"),
        ("__init__", "init"),
        ("self._cache.get(x)", "self cach"),
        ("the sessions are saved", "session save"),
        ("ÜberGroße", "über große übergroße"),
        ("日本語 text", "日本語 text"),
        ("SHA256 v2", "sha 256 sha256 v2"),
        ("x = 1", ""),
        ("a" * 65, ""),
    ],
)
def test_terms(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


def test_an_identifier_and_its_words_meet() -> None:
    assert set(terms("saving session cookies")) <= set(terms("def save_sessionCookie(self): ..."))


@given(st.text())
def test_terms_are_single_words_without_blanks(text: str) -> None:
    assert all(term and " " not in term and term == term.lower() for term in terms(text))


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,30}", fullmatch=True))
def test_parts_cover_all_letters_and_digits(name: str) -> None:
    assert "".join(parts(name)) == name.replace("_", "").lower()


@given(st.text(max_size=80))
def test_word_terms_agree_with_terms(word: str) -> None:
    if word.isidentifier():
        assert list(word_terms(word)) == terms(word)
