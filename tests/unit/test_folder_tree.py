"""Folder trees of overviews."""

from __future__ import annotations

import posixpath
from collections import Counter

from promptls.knowledge.project.folder_tree import MAX_LISTED_FILES, MAX_SUBFOLDERS, TreeFolder, folder_tree


def tree_of(*names: str, docs: dict[str, str] | None = None) -> tuple[TreeFolder, ...]:
    languages = {".py": "python", ".go": "go", ".md": "markdown", ".json": "json", ".java": "java"}
    counts = Counter((posixpath.dirname(n), languages.get(posixpath.splitext(n)[1], "text")) for n in names)
    return folder_tree(counts, names, docs or {}, {})


def test_chain_of_folders_is_one_entry() -> None:
    tree = tree_of("src/main/java/org/shop/A.java", "src/main/java/org/shop/web/B.java")
    assert [(f.path, f.depth, f.files) for f in tree] == [
        ("src/main/java/org/shop", 0, 2),
        ("src/main/java/org/shop/web", 1, 1),
    ]


def test_auxiliary_folders_have_one_line_and_hidden_ones_none() -> None:
    tree = tree_of(
        "shop/a.py", "shop/tests/test_a.py", "tests/unit/test_b.py", "docs/a/b.md", ".github/x.yml", "stub/package.json"
    )
    assert [(f.path, f.purpose) for f in tree] == [("shop", ""), ("tests", "tests"), ("docs", "documentation")]


def test_purpose_is_documentation_then_role_then_layer() -> None:
    names = ("app/store/a.py", "app/api/a.py", "app/models/a.py", "app/a.py")
    tree = tree_of(*names, docs={"app/store": "Package store keeps orders on disk. Not thread-safe."})
    assert {f.path: f.purpose for f in tree} == {
        "app": "the application",
        "app/store": "keeps orders on disk",
        "app/api": "the interface for others",
        "app/models": "data structures and their storage",
    }


def test_file_names_are_listed_in_small_projects_only() -> None:
    small = [f"shop/m{i}.py" for i in range(3)]
    assert tree_of(*small, "main.py", "tests/test_a.py")[:2] == (
        TreeFolder("", 0, 1, "", ("main.py",)),
        TreeFolder("shop", 0, 3, "", ("m0.py", "m1.py", "m2.py")),
    )
    large = tree_of(*(f"shop/m{i}.py" for i in range(MAX_LISTED_FILES + 1)))
    assert [f.names for f in large] == [()]


def test_folders_beyond_the_limit_are_counted() -> None:
    names = [f"shop/p{i:02}/a{j}.py" for i in range(MAX_SUBFOLDERS + 3) for j in range(9)]
    top, *below = tree_of(*names)
    assert (top.path, top.omitted, len(below)) == ("shop", 3, MAX_SUBFOLDERS)


def test_folder_with_nearly_all_code_replaces_the_folder_around_it() -> None:
    names = [f"server/shop/p{i % 2}/a{i}.py" for i in range(40)] + ["server/docs/a.md", "server/setup.py"]
    assert [(f.path, f.depth) for f in tree_of(*names)] == [
        ("server/shop", 0),
        ("server/shop/p0", 1),
        ("server/shop/p1", 1),
    ]
