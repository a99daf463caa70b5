from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from release import help_tags, tar_of, version_of


def test_archive_does_not_depend_on_order() -> None:
    files = {"b.el": b"b", "lua/x/a.lua": b"a", "LICENSE": b""}
    archive = tar_of("p-1", files, 1_700_000_000)
    assert archive == tar_of("p-1", dict(reversed(files.items())), 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        entries = tar.getmembers()
    assert [entry.name for entry in entries] == [
        "p-1", "p-1/LICENSE", "p-1/b.el", "p-1/lua", "p-1/lua/x", "p-1/lua/x/a.lua",
    ]  # fmt: skip
    assert {(entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries} == {(0, 0, "", 1_700_000_000)}
    assert {entry.mode for entry in entries if entry.isfile()} == {0o644}


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("*one.txt*  About\n\n   *:Two* *three()*\n", [":Two", "one.txt", "three()"]),
        ("a *pointer, b* and |*link*| and 2*3*4\n", []),
        ("no tags\n", []),
    ],
)
def test_help_tags_are_words_between_stars(tmp_path: Path, text: str, tags: list[str]) -> None:
    (tmp_path / "one.txt").write_text(text, "utf-8")
    assert help_tags(tmp_path) == "".join(f"{tag}\tone.txt\t/*{tag}*\n" for tag in tags)


@pytest.mark.parametrize("line", ['__version__ = "1.2"', '__version__ = "1.2.3rc1"', ""])
def test_version_that_vscode_rejects_stops_the_release(tmp_path: Path, line: str) -> None:
    package = tmp_path / "server" / "promptls"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"{line}\n", "utf-8")
    with pytest.raises(SystemExit, match=r"X\.Y\.Z"):
        version_of(tmp_path)
    (package / "__init__.py").write_text('__version__ = "1.2.3"\n', "utf-8")
    assert version_of(tmp_path) == "1.2.3"
