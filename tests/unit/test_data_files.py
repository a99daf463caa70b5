"""Data rows and translations rank below code, unless the question asks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from promptls.knowledge.project.file_kind import is_changelog
from promptls.model import CancelToken, Span
from promptls.retrieval.candidates import DATA_FACTOR, Candidate, adjust_by_kind, is_data_file, is_translation
from promptls.retrieval.query import parse_query
from promptls.retrieval.retrieve import RetrievalStrategy, retrieve
from workspaces import IndexedSnapshot, snapshot_of

LANGUAGES = ("de", "fr", "es", "it", "pt-rBR", "nl", "pl")
STRINGS = '<resources>\n<string name="refund_failed">The refund of the payment failed</string>\n</resources>\n'
INSERTS = "".join(f"INSERT INTO refund (payment, reason) VALUES ({n}, 'refund failed');\n" for n in range(12))
WORKSPACE = f"""
-- src/refund.py --
def refund_payment(payment):
    if payment.refunded:
        raise RefundFailed(payment)
    payment.refunded = True
-- db/schema.sql --
CREATE TABLE refund (payment int, reason text);

{INSERTS}
-- db/seed_refunds.sql --
{INSERTS}
-- CHANGELOG.md --
## 2.1

- A refund of a payment that failed is refunded again.
-- res/values/strings.xml --
{STRINGS}
""" + "".join(f"-- res/values-{language}/strings.xml --\n{STRINGS}" for language in LANGUAGES)


def ranked(question: str, tmp_path: Path) -> list[str]:
    """Return the names of the found files, best first, each once."""
    snapshot = snapshot_of(WORKSPACE, tmp_path)
    found = retrieve(parse_query(question), snapshot, IndexedSnapshot(snapshot), RetrievalStrategy(), CancelToken())
    return list(dict.fromkeys(snapshot.files[item.path].name for item in found.items))


def test_code_ranks_above_rows_and_translations(tmp_path: Path) -> None:
    names = ranked("what happens when the refund of a payment failed?", tmp_path)
    code = {"src/refund.py", "res/values/strings.xml"}
    assert set(names[:2]) == code


def test_rows_and_translations_are_found_on_request(tmp_path: Path) -> None:
    assert ranked("which rows are inserted into refund?", tmp_path)[0].startswith("db/")
    names = ranked("how is refund failed translated?", tmp_path)
    assert any(name.startswith("res/values-") for name in names[:3])


@pytest.mark.parametrize(
    ("question", "is_wanted"),
    [
        ("what happens when a refund of a payment that failed is refunded again?", False),
        ("since which version is a refund of a payment that failed refunded again?", True),
    ],
)
def test_changelog_is_an_answer_only_to_a_question_about_versions(
    tmp_path: Path, question: str, is_wanted: bool
) -> None:
    names = ranked(question, tmp_path)
    assert names.index("CHANGELOG.md") == (1 if is_wanted else len(names) - 1)


def test_a_named_file_is_not_reduced(tmp_path: Path) -> None:
    snapshot = snapshot_of(WORKSPACE, tmp_path)
    entry = next(e for e in snapshot.files.values() if e.name == "db/seed_refunds.sql")
    assert entry.outline is not None
    chunk = entry.outline.chunks[0]
    named, other = (Candidate(entry, 0, -1, chunk, None, chunk.span, by_path=by_path) for by_path in (1.0, 0.0))
    factors = adjust_by_kind(np.ones(2), parse_query("why does it fail?"), [named, other])
    assert factors.tolist() == [1, pytest.approx(DATA_FACTOR)]


BUILD = """
-- .github/workflows/release.yml --
jobs:
  windows:
    steps: [run cargo build]
-- deploy/app.yaml --
kind: Deployment
-- Cargo.toml --
[package]
-- src/jobs.rs --
fn build_windows_job() {}
-- tests/test_jobs.rs --
fn stores_a_job() {}
"""


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("which job builds the Windows binaries?", ".github/workflows/release.yml"),
        ("how many pods does kubernetes start?", "deploy/app.yaml"),
        ("how do I run a single test?", "Cargo.toml"),
        ("which tests cover the store of jobs?", "tests/test_jobs.rs"),
        ("how are jobs stored?", None),
    ],
)
def test_files_of_a_kind_that_the_question_names_are_raised(tmp_path: Path, question: str, name: str | None) -> None:
    entries = list(snapshot_of(BUILD, tmp_path).files.values())
    candidates = [Candidate(e, 0, -1, e.outline.chunks[0], None, Span(0, 1)) for e in entries if e.outline is not None]
    scores = adjust_by_kind(np.full(len(entries), 0.1), parse_query(question), candidates).tolist()
    assert {entry.name for entry, score in zip(entries, scores, strict=True) if score > 0.1001} >= (
        {name} if name else set()
    )
    assert (max(scores) > 0.1001) == (name is not None)
    assert max(scores) < 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CHANGELOG.md", True),
        ("History.md", True),
        ("NEWS", True),
        ("docs/changelog-2.x.rst", True),
        ("release-notes/VERSION-2.x", True),
        ("relnotes/v0.49.0.md", True),
        ("src/history.ts", False),
        ("core/History.java", False),
        ("src/exchange.py", False),
        ("src/changes/MassChange.java", False),
        ("app/news/list.vue", False),
    ],
)
def test_changelogs_by_name(name: str, expected: bool) -> None:
    assert is_changelog(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("res/values-de/strings.xml", True),
        ("res/values-pt-rBR/strings.xml", True),
        ("locale/nan_Latn_pehoeji.json", True),
        ("locale/app.json", False),
        ("res/values/strings.xml", False),
        ("res/values-v21/styles.xml", False),
        ("res/values-night/colors.xml", False),
        ("locales/de.json", True),
        ("locales/en.json", False),
        ("public/locales/en-GB/common.json", False),
        ("i18n/zh-CN.json", True),
        ("locale/de/LC_MESSAGES/django.po", True),
        ("config/locales/devise.fr.yml", True),
        ("src/messages_de.properties", True),
        ("src/messages.properties", False),
        ("de.lproj/Localizable.strings", True),
        ("lang/de/auth.php", True),
        ("src/lang/index.ts", False),
        ("messages/api.json", False),
        ("languages/go.py", False),
    ],
)
def test_translations_by_name(name: str, expected: bool) -> None:
    assert is_translation(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("data/users.csv", True),
        ("tests/fixtures/users.json", True),
        ("app/data/cities.xml", True),
        ("app/data/loader.py", False),
        ("config/app.json", False),
        ("package.json", False),
    ],
)
def test_data_files_by_name(name: str, expected: bool) -> None:
    assert is_data_file(name) == expected
