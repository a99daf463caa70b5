"""Rank fusion and boosts of the default pipeline; expected values are computed by hand."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from promptls.model import Item, Origin, Span
from promptls.prompt.scoring import (
    BOOSTS,
    FORMULAS,
    CorpusStatistics,
    RetrievedItem,
    ScoringQuery,
    apply_boosts,
    rare_term_boost,
    reciprocal_rank_fusion,
    score_items,
    weighted_sum,
)

CORPUS = CorpusStatistics(100, lambda term: {"login": 4, "token": 25, "the": 100}.get(term, 0))


def region(
    text: str, path: str = "/w/a.py", span: tuple[int, int] = (0, 10), total: float = 0.5, **more: object
) -> RetrievedItem:
    reasons = {k: float(v) for k, v in more.items() if k in ("semantic", "keyword")}  # type: ignore[arg-type]
    item = Item(path, Span(*span), "function", Origin.KEYWORD, total, str(more.get("symbol", "")), reasons)
    return RetrievedItem(item, text, int(more.get("size", 0)), str(more.get("summary", "")))  # type: ignore[call-overload]


# ---------------------------------------------------------------- fusion


def test_reciprocal_rank_fusion_ranks_from_one_and_ignores_zero_scores() -> None:
    assert reciprocal_rank_fusion([[0.9, 0.5, 0.0], [0.1, 0.2, 0.3]], (0.6, 0.4)) == pytest.approx(
        [0.6 / 61 + 0.4 / 63, 0.6 / 62 + 0.4 / 62, 0.4 / 61]
    )
    assert reciprocal_rank_fusion([[1.0, 1.0]], (1.0,), first_rank=0) == pytest.approx(
        [1 / 60, 1 / 60]
    )  # Cody ranks from 0


def test_hybrid_formula_is_a_weighted_sum_of_normalized_scores() -> None:
    assert weighted_sum(0.8, 0.4) == pytest.approx(0.68)  # 0.7·0.8 + 0.3·0.4
    one, two = region("a", semantic=0.4, keyword=0.2), region("b", "/w/b.py", semantic=0.2, keyword=0.4)
    ranked = score_items(FORMULAS["hybrid"], [two, one], ScoringQuery("", ()), CORPUS, 1.0)
    # each score as a share of the best: 0.7·1 + 0.3·0.5 and 0.7·0.5 + 0.3·1
    assert [r.item.score for r in ranked] == pytest.approx([0.85, 0.65])


# ---------------------------------------------------------------- boosts


def test_a_rare_term_boosts_more_than_a_common_one() -> None:
    asked = ScoringQuery("", ("login", "token"))
    rare, common = math.log(1 + 96.5 / 4.5), math.log(1 + 75.5 / 25.5)
    login, token = region("login", total=0.1), region("token", "/w/b.py", total=0.1)
    done = {r.item.path: r.item.score for r in apply_boosts([login, token], [BOOSTS["rare terms"]], asked, 1.0, CORPUS)}
    assert done["/w/a.py"] == pytest.approx(0.1 + 0.3 * rare / (rare + common))
    assert done["/w/b.py"] == pytest.approx(0.1 + 0.3 * common / (rare + common))
    assert rare_term_boost(login, (), CORPUS) == 0.0


@pytest.mark.parametrize(
    ("action", "text", "facts", "more"),
    [
        ("fix", "except ValueError:\n    raise", {}, 0.2),
        ("fix", "} catch (e) {", {}, 0.2),
        ("fix", "if err != nil {", {}, 0.2),
        ("fix", "# no error here, and nothing to validate", {}, 0.0),  # words, but no error handling
        ("create", "pass", {"exported": True}, 0.15),
        ("create", "the class of all things", {}, 0.0),
        ("refactor", "x", {"complexity": 11}, 0.1),
        ("refactor", "x" * 600, {"complexity": 10}, 0.0),
        ("explain", "raise", {"exported": True, "complexity": 50}, 0.0),
    ],
)
def test_boosts_use_features_of_the_code_instead_of_words(
    action: str, text: str, facts: dict[str, int], more: float
) -> None:
    found = region(text)
    [done] = apply_boosts([replace(found, **facts)], [BOOSTS["features"]], ScoringQuery("", (), action), 1.0)
    assert done.item.score == pytest.approx(0.5 + more)
