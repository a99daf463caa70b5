"""Names in either Unicode form of composed letters, with files in either form."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

from promptls.mentions.resolve import resolve_mentions
from workspaces import context_of, snapshot_of

FILES = {"NFC": "src/größe_c.py", "NFD": "src/größe_d.py"}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("mention", "count"),
    [
        ("@#bestelleCrème", 2),
        ("@src/größe_c.py#bestelleCrème", 1),
        ("@src/größe_d.py#bestelleCrème", 1),
        ("@src/größe*.py", 2),
        ("@glob:**/größe*.py", 2),
        ("@text:Prüfung", 2),
        ('@regex:"Prüf\\w*"', 2),
        ("@src/größe_d.py", 1),
    ],
)
def test_mention_finds_both_forms(tmp_path: Path, form: str, mention: str, count: int) -> None:
    text = "def bestelleCrème(n):\n    return 'Prüfung'\n"
    workspace = "".join(normalize(own, f"-- {name} --\n{text}") for own, name in FILES.items())
    (outcome,) = resolve_mentions(normalize(form, mention), context_of(snapshot_of(workspace, tmp_path)))
    found = {item.path for item in outcome.targets} | set(outcome.candidates)
    assert len(found) >= count, outcome
