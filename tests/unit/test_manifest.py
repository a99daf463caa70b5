import sqlite3
from pathlib import Path

from msgspec.structs import replace

from promptls.index.store.file_manifest import OUTLINE_VERSION, Manifest
from promptls.model import Chunk, FileEntry, Outline, Span, Symbol, encode_outline

OUTLINE = Outline(
    "python",
    3,
    (Symbol("f", "function", "f", "def f()", "Doc.", Span(0, 3), 0, 1, -1),),
    (Chunk(b"k" * 16, Span(0, 3), 0),),
    ref_names=("g",),
    refs=b"\0" * 12,
    identifiers=("",),
)
LONG = replace(OUTLINE, doc="Purpose of it. " * 64)


def entry(name: str, outline: Outline | None = OUTLINE, skip_reason: str = "") -> FileEntry:
    return FileEntry(
        f"/w/{name}", "/w", name, 10, 1_700_000_000_000_000_001, b"d" * 16, None, encode_outline(outline), skip_reason
    )


def test_records_are_loaded_as_saved(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "files.sqlite", "/w")
    manifest.save([entry("a.py"), entry("dir/ü '\".py"), entry("b.bin", None, "binary")])
    manifest.close()
    again = Manifest(tmp_path / "files.sqlite", "/w")
    assert again.load() == {e.path: e for e in (entry("a.py"), entry("dir/ü '\".py"), entry("b.bin", None, "binary"))}


def test_records_are_replaced_and_deleted(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "files.sqlite", "/w")
    manifest.save([entry("a.py"), entry("b.py")])
    manifest.save([entry("a.py", None, "binary")], deleted=["b.py", "never"])
    assert list(manifest.load().values()) == [entry("a.py", None, "binary")]


def test_damaged_bytes_never_change_a_record(tmp_path: Path) -> None:
    file = tmp_path / "files.sqlite"
    manifest = Manifest(file, "/w")
    good = {e.path: e for e in (entry(f"{i}.py") for i in range(20))}
    manifest.save(good.values())
    manifest.close()
    whole = file.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 150)):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        damaged = Manifest(file, "/w")
        loaded = damaged.load()
        assert all(good.get(path) == e for path, e in loaded.items())
        damaged.save([entry("new.py")])
        damaged.close()
        for extra in file.parent.glob("files.sqlite-*"):
            extra.unlink()


def test_file_that_is_not_a_database_is_recreated(tmp_path: Path) -> None:
    file = tmp_path / "files.sqlite"
    file.write_bytes(b"this is not a database" * 100)
    manifest = Manifest(file, "/w")
    manifest.save([entry("a.py")])
    assert list(manifest.load()) == ["/w/a.py"]


def test_records_of_another_version_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "files.sqlite"
    manifest = Manifest(file, "/w")
    manifest.save([entry("a.py")])
    manifest.close()
    database = sqlite3.connect(file)
    database.execute(f"PRAGMA user_version = {OUTLINE_VERSION - 1}")
    database.commit()
    database.close()
    again = Manifest(file, "/w")
    assert again.load() == {}
    again.save([entry("b.py")])
    again.close()
    assert list(Manifest(file, "/w").load()) == ["/w/b.py"]


def test_directory_at_the_path_is_removed(tmp_path: Path) -> None:
    for name in ("files.sqlite", "files.sqlite-wal", "files.sqlite-shm"):
        file = tmp_path / name.removesuffix(".sqlite") / "files.sqlite"
        (file.with_name(name) / "inside").mkdir(parents=True)
        manifest = Manifest(file, "/w")
        assert manifest.save([]) is True
        assert manifest.load() == {}
        manifest.close()
        assert file.is_file()
