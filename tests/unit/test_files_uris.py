"""Conversion between paths and file URIs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.api.messages.params import InvalidParams
from promptls.api.messages.path_globs import MAX_GLOB_CHARACTERS, MAX_GLOBS, match_paths
from promptls.index import Snapshot
from promptls.index.files.gitignore import is_match, match_globs, parse_rules
from promptls.index.files.uris import from_uri, is_inside, to_uri
from promptls.model import FileEntry, Root
from promptls.util.mappings import PersistentMap
from trees import plant

POSIX = {
    "/": "file:///",
    "/a b/c.py": "file:///a%20b/c.py",
    '/it\'s "q"': "file:///it%27s%20%22q%22",
    "/100%/#1?x": "file:///100%25/%231%3Fx",
    "/é/e\u0301/日本": "file:///%C3%A9/e%CC%81/%E6%97%A5%E6%9C%AC",
    "/C:/x": "file:///C%3A/x",
    "/new\nline": "file:///new%0Aline",
    "/\udcff": "file:///%FF",
}
WINDOWS = {
    "C:/Users/a b": "file:///C:/Users/a%20b",
    "C:/": "file:///C:/",
    "//server/share/é": "file://server/share/%C3%A9",
    "D:/x;y,z=1&2": "file:///D:/x%3By%2Cz%3D1%262",
}
READ = [
    ("file:///c%3A/Users/x", True, "C:/Users/x"),
    ("file:///c:/Users/x/", True, "C:/Users/x"),
    ("FILE:///C:", True, "C:/"),
    ("file://wsl.localhost/Ubuntu/home", True, "//wsl.localhost/Ubuntu/home"),
    ("file:////server/share", True, "//server/share"),
    ("file:///no/drive", True, None),
    ("file://localhost/a/", False, "/a"),
    ("file:/a", False, "/a"),
    ("file:///a#L1", False, "/a"),
    ("file:///a?x=1", False, "/a"),
    ("file:///a//", False, "/a"),
    ("file:////a//b/./c/../d", False, "/a/b/d"),
    ("file:///a/%2E%2e/../b", False, "/b"),
    ("file:///c:/a/../b//c/.", True, "C:/b/c"),
    ("file://server/share/a/../b/", True, "//server/share/b"),
    ("file://server/a", False, None),
    ("file:a", False, None),
    ("file://", False, None),
    ("file:///a%00b", False, None),
    ("untitled:Untitled-1", False, None),
    ("vscode-remote://ssh/a", False, None),
    ("/a", False, None),
    ("", False, None),
]


@pytest.mark.parametrize(("windows", "pairs"), [(False, POSIX), (True, WINDOWS)])
def test_paths_and_uris_convert_both_ways(windows: bool, pairs: dict[str, str]) -> None:
    for path, uri in pairs.items():
        assert to_uri(path, windows) == uri
        assert from_uri(uri, windows) == path


@pytest.mark.parametrize(("uri", "windows", "path"), READ)
def test_uris_as_clients_write_them(uri: str, windows: bool, path: str | None) -> None:
    assert from_uri(uri, windows) == path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("c:\\a\\b", "file:///c:/a/b"),
        ("\\\\?\\C:\\long", "file:///C:/long"),
        ("\\\\?\\UNC\\server\\share", "file://server/share"),
    ],
)
def test_windows_path_spellings(path: str, uri: str) -> None:
    assert to_uri(path, windows=True) == uri


SEGMENTS = st.lists(
    st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1).filter(
        lambda s: s.strip(".") != ""
    ),
    min_size=1,
    max_size=4,
).map("/".join)


@given(SEGMENTS, st.binary(max_size=4), st.sampled_from("ACZ"))
def test_round_trip(name: str, raw: bytes, drive: str) -> None:
    odd = raw.replace(b"/", b"").replace(b"\0", b"").decode("utf-8", "surrogateescape")
    for path in (f"/{name}", f"/{name}/x{odd}"):
        assert from_uri(to_uri(path, windows=False), windows=False) == path
    for path in (f"{drive}:/{name}", f"//server/{name}"):
        assert from_uri(to_uri(path, windows=True), windows=True) == path


def test_existing_path_round_trip(tmp_path: Path) -> None:
    path = (tmp_path / "a b" / "é.py").as_posix()
    assert to_uri(path) == Path(path).as_uri()
    assert from_uri(Path(path).as_uri()) == path


def test_is_inside_resolves_links(tmp_path: Path) -> None:
    root = plant(tmp_path / "r", "a/b.py")
    plant(tmp_path, "rest/x")
    assert all(is_inside(root, p) for p in (root, root + "/", root + "/a/b.py", root + "/a/../new", root + "/gone/x"))
    assert is_inside("/", root)
    for path in (root + "/../rest/x", root + "st/x", f"{root}/a/../../rest", root + "/a\0b", tmp_path.as_posix()):
        assert not is_inside(root, path)
    if os.name == "posix":
        plant(tmp_path / "r", "out -> ../rest\nin -> a\nloop -> loop\ndangling -> ../gone")
        assert is_inside(root, root + "/in/b.py")
        assert not any(is_inside(root, f"{root}/{p}") for p in ("out", "out/x", "dangling", "in/../../rest/x"))
        plant(tmp_path, "alias -> r")
        assert is_inside((tmp_path / "alias").as_posix(), root + "/a/b.py")


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.py"], ["a.py", "src/b.py", "src/deep/c.py"]),
        (["src/"], ["src/b.py", "src/deep/c.py", "src/x.ts"]),
        (["/*.py"], ["a.py"]),
        (["src/**/*.py"], ["src/b.py", "src/deep/c.py"]),
        (["src/", "!*.ts"], ["src/b.py", "src/deep/c.py"]),
        (["# comment", ""], []),
        ([], []),
    ],
)
def test_globs_match_like_an_ignore_file(globs: list[str], expected: list[str]) -> None:
    names = ["a.py", "src/b.py", "src/deep/c.py", "src/x.ts", "README.md"]
    assert match_globs(names, globs) == expected


GLOBS = st.lists(st.text(alphabet="ab*?[]!^\\\\/.é-", min_size=1, max_size=8), min_size=1, max_size=4)
NAMES = st.lists(
    st.text(alphabet="ab./é\n-", min_size=1, max_size=10).map(lambda name: name.strip("/") or "a"), max_size=8
)


@given(GLOBS, NAMES)
def test_combined_globs_match_what_the_rules_match(globs: list[str], names: list[str]) -> None:
    rules = parse_rules("\n".join(globs).encode(), "globs")
    expected = [name for name in names if rules is not None and is_match(rules, os.fsencode(name))]
    assert match_globs(names, globs) == expected


def test_globs_of_a_search_are_limited() -> None:
    entries = [FileEntry(f"/w/src/{i}.py", "/w", f"src/{i}.py") for i in range(200)]
    snapshot = Snapshot(roots=(Root("/w", "w", ""),), files=PersistentMap({entry.path: entry for entry in entries}))
    globs = [f"**/{i}*.py" for i in range(MAX_GLOBS)]
    assert len(match_paths(snapshot, globs)) == 200
    for too_many in ([*globs, "a"], ["a" * (MAX_GLOB_CHARACTERS + 1)]):
        with pytest.raises(InvalidParams, match="at most 100 globs"):
            match_paths(snapshot, too_many)
