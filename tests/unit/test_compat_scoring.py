"""Scoring formulas of the compat profiles; expected values are computed by hand."""

from __future__ import annotations

import math

import pytest

from promptls.extensions.compat.attune import overlap_formula
from promptls.extensions.compat.codebuddy.window_scoring import density, density_formula, element_score
from promptls.extensions.compat.cody import tfidf
from promptls.extensions.compat.prompto import (
    action_boost,
    fusion_formula,
    symbol_match,
    term_boost,
)
from promptls.model import Item, Origin, Span
from promptls.prompt.scoring import CorpusStatistics, RetrievedItem, ScoringQuery, score_items

CORPUS = CorpusStatistics(100, lambda term: {"login": 4, "token": 25, "the": 100}.get(term, 0))


def region(
    text: str, path: str = "/w/a.py", span: tuple[int, int] = (0, 10), total: float = 0.5, **more: object
) -> RetrievedItem:
    reasons = {k: float(v) for k, v in more.items() if k in ("semantic", "keyword")}  # type: ignore[arg-type]
    item = Item(path, Span(*span), "function", Origin.KEYWORD, total, str(more.get("symbol", "")), reasons)
    return RetrievedItem(item, text, int(more.get("size", 0)), str(more.get("summary", "")))  # type: ignore[call-overload]


# ---------------------------------------------------------------- CodeBuddy


def test_codebuddy_density() -> None:
    text = "def login(user): return token_of(user) or login_form"  # 6 words, "login" twice, "token" once
    total, reasons = density(text, ["login", "token"])
    assert reasons["density"] == pytest.approx(5 * 3 / 6)
    assert reasons["declared"] == pytest.approx(0.2)  # def login
    assert total == pytest.approx(0.1 + 5 * 3 / 6 + 0.2)


def test_codebuddy_element_points() -> None:
    # class 10; name "login": first of two keywords, weight 10, twice; body "token": weight 1; two children 4; class 3
    class_points = element_score("class", "LoginForm", "class LoginForm: token = 1", 2, ["login", "token"])
    assert class_points == pytest.approx(10 + 2 * 10 + 10 + 1 + 4 + 3)  # the body holds the name, too
    assert element_score("variable", "x", "token " * 200, 0, ["token"]) == pytest.approx(4 + 10 - 2)
    assert element_score("function", "f", "a1 b1 c1", 0, ["a1", "b1", "c1"]) == pytest.approx(8 + 10 + 5.5 + 1 + 1.5)


def lines(count: int, *special: tuple[int, str]) -> str:
    """`count` lines of two words each, some of them others."""
    return "\n".join(dict(special).get(n, f"line {n}") for n in range(count))


LOGIN = ScoringQuery("login", ("login",))


def test_codebuddy_scores_the_first_31_lines_of_a_definition() -> None:
    text = lines(40, (0, "def login(x):"), (35, "login login login"))
    [found] = score_items(
        density_formula, [region(text, span=(100, 140), symbol="login", semantic=0.5)], LOGIN, CORPUS, 0.9
    )
    assert found.item.span == Span(100, 131)
    # 62 words, of which one match: 0.1 + 5/62 + 0.2 for "def login"; the three matches in line 36 are outside
    assert found.item.score == pytest.approx(0.1 + 5 / 62 + 0.2)


def test_codebuddy_score_must_be_above_the_minimum() -> None:
    exactly = region(" ".join(["filler"] * 49 + ["login"]), semantic=0.5)  # 0.1 + 5/50 = 0.2
    above = region(" ".join(["filler"] * 48 + ["login"]), "/w/b.py", semantic=0.5)
    asked = ScoringQuery("login", ("login", "absent"))
    scores = {r.item.path: r.item.score for r in score_items(density_formula, [exactly, above], asked, CORPUS, 0.9)}
    assert scores["/w/b.py"] == pytest.approx(0.1 + 5 / 49)
    assert scores["/w/a.py"] == 0.3  # represented by the first lines of the file, which has the keyword
    other = region("login", "/w/a.py", (50, 51), semantic=0.4)
    scores_there = [r.item.score for r in score_items(density_formula, [exactly, other], asked, CORPUS, 0.9)]
    assert scores_there[0] == 0.9
    assert 0.19 < scores_there[1] < 0.2  # below the threshold: something in the file is good enough


def test_codebuddy_uses_the_first_50_lines_of_a_file_without_a_good_definition() -> None:
    whole = tuple(lines(80, (70, "a login")).split("\n"))
    dull = RetrievedItem(
        region("\n".join(whole[60:80]), span=(60, 80), symbol="f", semantic=0.3).item, "nothing", file_lines=whole
    )
    [found] = score_items(density_formula, [dull], LOGIN, CORPUS, 0.9)
    assert (found.item.span, found.item.score, found.item.symbol) == (Span(0, 50), 0.3, "")
    assert found.item.reasons == {"first lines": 0.3}
    assert found.text == "\n".join(whole[:50])
    without = RetrievedItem(dull.item, "nothing", file_lines=whole[:60])
    assert score_items(density_formula, [without], LOGIN, CORPUS, 0.9)[0].item.score == pytest.approx(0.1)


def test_codebuddy_candidates_are_the_best_five_by_similarity_and_definitions_with_points() -> None:
    near = [region(f"text {n}", f"/w/{n}.py", semantic=1 - n / 10) for n in range(7)]
    defined = region("def login(): ...", "/w/login.py", symbol="Auth.login", keyword=0.1)
    ranked = score_items(density_formula, [*near, defined], LOGIN, CORPUS, 0.9)
    scores = {r.item.path: r.item.score for r in ranked}
    assert scores["/w/login.py"] == 0.9  # 8 + 2·10 + 10 points: a critical element
    assert [scores[f"/w/{n}.py"] for n in range(7)] == pytest.approx([0.1] * 5 + [0.0] * 2)
    assert [r.item.score for r in score_items(density_formula, near, ScoringQuery("", ()), CORPUS, 0.9)] == [
        0.5
    ] * 5 + [0.0] * 2


# ---------------------------------------------------------------- prompto


def test_prompto_symbol_match() -> None:
    assert symbol_match("Auth.login", ["login"]) == 1.0
    assert symbol_match("logins", ["login"]) == 0.8
    assert symbol_match("login_form", ["login"]) == 0.5
    assert symbol_match("logout", ["login"]) == 0.0
    assert symbol_match("", ["login"]) == 0.0


def test_prompto_fused_scores_are_scaled_to_1() -> None:
    first = region("def login(): ...", symbol="login", semantic=0.9, keyword=0.9)
    second = region("def other(): ...", "/w/b.py", symbol="other", semantic=0.5)
    best, rest = score_items(fusion_formula, [second, first], ScoringQuery("fix the login", ("login",)), CORPUS, 1.0)
    assert best.item.score == pytest.approx(1.0)
    assert rest.item.score == pytest.approx(0.4 * 61 / 62)  # second in the semantic leg alone, weight 0.4
    assert rest.item.score >= 0.3  # the threshold means something


def test_prompto_boosts() -> None:
    terms = ("authentication", "error", "login", "handler")
    assert term_boost("login handler: authentication error", "a.ts", terms) == pytest.approx(0.3)
    assert term_boost("an error", "src/login.ts", terms) == pytest.approx(0.15)
    assert term_boost("nothing", "a.ts", ()) == 0.0
    assert [action_boost("try {} catch (e) {}", a) for a in ("fix", "create", "explain")] == [0.2, 0.0, 0.0]
    assert action_boost("export class A {}", "create") == 0.15
    assert [action_boost("x" * n, "refactor") for n in (500, 501)] == [0.0, 0.1]


# ---------------------------------------------------------------- Cody


def test_cody_tfidf() -> None:
    expected = math.log(100 / 4) * (1 + math.log10(10)) + math.log(100 / 25) * 1
    assert tfidf({"login": 10, "token": 1, "absent": 3}, CORPUS) == pytest.approx(expected)
    assert tfidf({"login": 10, "token": 1}, CORPUS, size=10_001) == pytest.approx(expected / 10)
    assert tfidf({"login": 10, "token": 1}, CORPUS, size=10_000) == pytest.approx(expected)
    assert tfidf({"the": 9}, CORPUS) == 0.0  # in every text


# ---------------------------------------------------------------- attune


def test_attune_confident_hits_keep_their_order() -> None:
    text = "session store for the cookie"
    good = region(text, "/w/z/session_store.py", summary="session cookie")
    fair = region(text, "/w/a.py", summary="session")
    poor = region("session", "/w/b.py")  # 1 point: does not count
    asked = ScoringQuery("session store cookie", ("session", "store", "cookie"))
    ranked = score_items(overlap_formula, [poor, fair, good], asked, CORPUS, 1.0)
    # 2·2 + 1.5·2 + 3 = 10; 1.5 + 3 = 4.5
    assert [(r.item.path, r.item.score) for r in ranked] == [
        ("/w/z/session_store.py", 1.0),
        ("/w/a.py", pytest.approx(0.45)),
        ("/w/b.py", 0.0),
    ]


def test_attune_uses_similarity_only_below_the_keyword_gate() -> None:
    sure = region(
        "session store for the cookie that expires",
        "/w/session_store.py",
        summary="stores the session cookie",
        semantic=0.1,
    )
    near = region("something else", "/w/b.py", semantic=0.9)
    words = ("session", "store", "cookie", "expires")
    ranked = score_items(
        overlap_formula, [near, sure], ScoringQuery("session store cookie expires", words), CORPUS, 1.0
    )
    assert [(r.item.path, r.item.score) for r in ranked] == [("/w/session_store.py", 1.0), ("/w/b.py", 0.0)]
    unsure = score_items(
        overlap_formula, [near, sure], ScoringQuery("cookie expires", ("cookie", "expires")), CORPUS, 1.0
    )
    assert [r.item.path for r in unsure] == ["/w/session_store.py", "/w/b.py"]  # two to one for the words
    assert unsure[0].item.score == pytest.approx((2 / 61 + 1 / 62) * 61 / 3)
    assert unsure[1].item.score == pytest.approx((1 / 61) * 61 / 3)
