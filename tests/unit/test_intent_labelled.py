"""Quality of intent detection: thresholds slightly below the results on questions that were not used for tuning."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from promptls.prompt.intent import ACTIONS, QUESTION_TYPES
from promptls.prompt.intent.categories import category_names

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "evaluation" / "intent.py"


@pytest.fixture(scope="module")
def evaluation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluation_intent", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_labelled_questions_are_complete(evaluation: ModuleType) -> None:
    rows = [json.loads(line) for line in evaluation.QUESTIONS.read_text("utf-8").splitlines()]
    splits = Counter(row["split"] for row in rows)
    assert len(rows) >= 320 and abs(splits["tune"] - splits["held"]) <= 1
    assert len({row["id"] for row in rows}) == len({row["text"] for row in rows}) == len(rows)
    assert {row["action"] for row in rows} <= set(ACTIONS)
    assert {t for row in rows for t in row["types"]} == set(QUESTION_TYPES)
    assert {c for row in rows for c in row["categories"]} == set(category_names())
    assert sum(not row["text"].isascii() for row in rows) >= 24


@pytest.mark.parametrize("split", ["tune", "held"])
def test_quality_stays_above_the_thresholds(evaluation: ModuleType, split: str) -> None:
    got = evaluation.figures(evaluation.questions(split))
    assert got.codebase >= 0.98
    assert got.action >= 0.84
    assert got.types_f1 >= 0.85
    assert got.categories_f1 >= 0.82
    assert got.calibration <= 0.06
