"""The measures and the baselines of scripts/evaluate."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import pytest
from evaluation import _baselines as baselines
from evaluation import _corpora as corpora
from evaluation import _documents as documents
from evaluation import _measures as measures
from evaluation import table
from evaluation._workspace import engine_of

from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken

pytestmark = pytest.mark.process

FILES = {
    "src/pool.py": '''class Pool:
    """Connections that are open."""

    def acquire(self):
        return self.idle.pop()

    def close_idle(self):
        """Close connections that nobody used for a minute."""
        for connection in self.idle:
            connection.close()
''',
    "src/render.py": '''def paint(canvas):
    """Draw every shape on the canvas."""

    def one(shape):
        canvas.add(shape)

    for shape in canvas.shapes:
        one(shape)
''',
    "tests/test_pool.py": '''def test_close_idle_connections():
    """Close connections that nobody used for a minute."""
    assert not Pool().close_idle()
''',
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    root = tmp_path_factory.mktemp("evaluated")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, "utf-8")
    with engine_of(root) as (engine, _):
        return engine.snapshot(CancelToken())


def question(*gold: tuple[str, int, int], id: str = "q", corpus: str = "pool@1", style: str = "locbench"):
    regions = tuple(corpora.Gold(path, start, end, 2) for path, start, end in gold)
    return corpora.Question(id, corpus, "python", "", style, "Where are idle connections closed?", regions)


@pytest.mark.parametrize("name", ["prototype", "BM25", "static hybrid"])
def test_baselines_find_the_function_of_a_question(opened: Snapshot, name: str) -> None:
    system = baselines.SYSTEMS[name](baselines.Workspace(opened))
    first = system.search_functions("close connections that nobody used")[0]
    assert first.path == "src/pool.py"
    assert "close_idle" in first.text
    assert "connection.close()" in baselines.build_prompt(system, "close connections that nobody used", 1000)


def test_functions_inside_of_functions_belong_to_the_outer_one(opened: Snapshot) -> None:
    names = [(d.path, d.name) for d in documents.functions(opened)]
    assert names == [
        ("src/pool.py", "Pool.acquire"),
        ("src/pool.py", "Pool.close_idle"),
        ("src/render.py", "paint"),
        ("tests/test_pool.py", "test_close_idle_connections"),
    ]


def test_windows_and_definitions_cover_all_lines(opened: Snapshot) -> None:
    for source in (documents.windows, documents.definitions):
        seen = {(d.path, line) for d in source(opened) for line in range(d.start, d.end)}
        wanted = {(p, i) for p, text in FILES.items() for i, line in enumerate(text.split("\n")) if line.strip()}
        assert wanted <= seen


def test_overlapping_documents_are_ranked_once() -> None:
    regions = [("a", 0, 40), ("a", 30, 70), ("b", 30, 70), ("a", 40, 50)]
    found = documents.without_overlaps((documents.Document(*r, "") for r in regions), 10)
    assert [(d.path, d.start) for d in found] == [("a", 0), ("b", 30), ("a", 40)]


def test_a_packed_prompt_leaves_out_what_does_not_fit() -> None:
    sizes = [100, 4000, 100]
    packed = documents.pack([documents.Document(f"f{i}", 0, 1, "x" * n) for i, n in enumerate(sizes)], 100)
    assert len(packed) <= 400
    assert [f"f{i}:" in packed for i in range(3)] == [True, False, True]


@pytest.mark.parametrize(
    ("gold", "ranked", "function_at_5"),
    [
        ([("src/pool.py", 7, 10)], [("src/pool.py", 6, 10)], 1),
        ([("src/pool.py", 7, 10)], [("src/pool.py", 8, 9)], 1),  # a part of it
        ([("src/pool.py", 7, 10)], [("src/pool.py", 0, 10)], 0),  # two functions: which one is not known
        ([("src/pool.py", 7, 10)], [("src/pool.py", 3, 5)], 0),
        ([("src/pool.py", 7, 10), ("src/render.py", 1, 8)], [("src/pool.py", 6, 10)], 0),  # one is missing
        ([("src/pool.py", 7, 10), ("src/render.py", 1, 8)], [("src/render.py", 3, 5), ("src/pool.py", 6, 10)], 1),
        ([("src/gone.py", 1, 3)], [("src/pool.py", 6, 10)], 0),  # never found, instead of nothing to find
    ],
)
def test_functions_among_the_first(opened: Snapshot, gold: list, ranked: list, function_at_5: int) -> None:
    row = measures.localisation(question(*gold), opened, ranked)
    assert row["function@5"] == row["function@50"] == function_at_5


def test_files_among_the_first_are_distinct(opened: Snapshot) -> None:
    ranked = [*(("src/render.py", i, i + 1) for i in range(9)), ("src/pool.py", 0, 1)]
    assert measures.localisation(question(("src/pool.py", 7, 10)), opened, ranked)["file@5"] == 1


@pytest.mark.parametrize(
    ("targets", "ranked", "expected"),
    [
        (["a"], ["a", "b"], 1.0),
        (["a"], ["b", "a"], 1 / math.log2(3)),
        (["src/a"], ["a"], 1.0),  # the tree is a folder of the repository
        (["a"], ["ba"], 0.0),
        (["a"], [*"bcdefghijk", "a"], 0.0),
        (["a", "b"], ["b", "a"], 1.0),
        (["a", "b"], ["a"], 1 / (1 + 1 / math.log2(3))),
        ([], ["a"], 0.0),
    ],
)
def test_ndcg(targets: list[str], ranked: list[str], expected: float) -> None:
    found = measures.ndcg([measures.Target(t) for t in targets], [(path, 0, 1) for path in ranked])
    assert found == pytest.approx(expected)


def test_a_target_with_lines_wants_these_lines() -> None:
    target = measures.Target("a", 10, 20)
    assert measures.ndcg([target], [("a", 0, 10)]) == 0
    assert measures.ndcg([target], [("a", 19, 30)]) == 1


def test_each_file_is_represented_by_its_best_region() -> None:
    ranked = [("b", 5, 6), ("a", 0, 1), ("b", 0, 1), ("c", 2, 3), ("a", 7, 8)]
    assert measures.best_of_each_file(ranked) == [("b", 5, 6), ("a", 0, 1), ("c", 2, 3)]


def test_the_benchmark_is_read_without_dead_queries(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "tree").mkdir()
    repositories = [{"name": "tree", "dead_queries": ["gone"]}, {"name": "absent"}]
    (tmp_path / "repos.json").write_text(json.dumps(repositories))
    lines = {"path": "b", "start_line": 3, "end_line": 5}
    queries = [{"query": "gone", "relevant": ["a"]}, {"query": "here", "relevant": ["a"], "secondary": [lines]}]
    (tmp_path / "annotations" / "tree.json").write_text(json.dumps(queries))
    options = argparse.Namespace(benchmark=tmp_path, benchmark_trees=tmp_path)
    wanted = measures.BenchmarkQuery("here", (measures.Target("a"), measures.Target("b", 2, 5)))
    assert list(measures.read_benchmark(options)) == [(tmp_path / "tree", [wanted])]


def test_a_sample_takes_the_same_share_of_every_voice() -> None:
    voices = {"own": "flask", "history": "a@1", "locbench": "b@1"}
    by_tree = [
        (Path(name), [question(id=f"{name}{i}", corpus=corpus, style=name) for i in range(9)])
        for name, corpus in voices.items()
    ]
    kept = {tree.name: [q.id for q in asked] for tree, asked in table._sampled(by_tree, 3)}
    assert kept == {name: [f"{name}{i}" for i in (0, 3, 6)] for name in voices}


def test_rows_of_the_table() -> None:
    asked = [question(id=str(i), corpus="a@1") for i in range(2)]
    rows = {"promptls": [{"coverage@8k": 1.0}, {"coverage@8k": 0.0}], "BM25": [{"coverage@8k": 0.5}] * 2}
    made = table.table(table.Measured(rows, {"promptls": [{"NDCG@10": 0.5}], "BM25": []}, asked))
    assert made.split("\n")[2:] == [
        "| issues | 2 | coverage@8k | 0.500 ± 0.500 | 0.500 ± 0.000 |",
        "| public benchmark | 1 | NDCG@10 | 0.500 | – |",
    ]


def test_measured_rows_are_kept_on_disk(opened: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CACHE", tmp_path)
    asked = [question(("src/pool.py", 7, 10), id="a"), question(("src/render.py", 1, 8), id="b")]
    opening: list[str] = []

    def system() -> table._Baseline:
        opening.append("BM25")
        return table._Baseline("BM25", baselines.Workspace(opened))

    root = opened.roots[0].path

    def rows(questions: list, code: str = "1") -> list[table.Row]:
        kept = table._Kept("BM25", opened, code)
        return kept.rows(questions, system, lambda s, q: table._measure(s, q, opened, root))

    first = rows(asked[:1])
    assert first[0]["coverage@8k"] == first[0]["function@5"] == 1
    assert rows(asked)[0] == first[0]
    assert rows(asked) == rows(asked)
    assert len(opening) == 2  # for each question once
    rows(asked, code="2")
    assert len(opening) == 3


def test_the_caption_names_what_was_left_out() -> None:
    assert "sample" not in table.caption(1, 9, 9, [])
    assert "stopped" not in table.caption(1, 9, 9, [])
    assert "one of 3" in table.caption(3, 9, 9, [])
    assert "4 of 9 workspaces" in table.caption(1, 4, 9, [])
    assert table.caption(1, 9, 9, ["semble is not measured."]).endswith("semble is not measured.")
