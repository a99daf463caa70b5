"""Completion of mentions: order of items, replaced range, labels and details."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.api.mention_requests import encode_completion_item
from promptls.index.snapshot import Snapshot
from promptls.mentions import registry
from promptls.mentions.completion.complete import CompletionResult, complete
from promptls.mentions.kinds import KindRegistry, MentionKind
from workspaces import context_of, snapshot_of

SHOP = """
-- server/snapshot.py --
class Snapshot:
    def read(self, path):
        return path

    def render(self):
        return 1


def take(): pass
-- server/handle_ping.py --
def handle_ping(): pass
-- server/pingPong.ts --
export function pingPong() {}
-- server/deep/inside/snapshot.py --
class Snapshot:
    def replay(self): pass
-- server/deep/spring.py --
def spring(): pass
-- docs/日本語.md --
# 日本語
-- docs/about pings.md --
# Pings

## Pongs
-- tests/test_snapshot.py --
class Snapshot:
    def read(self): pass
-- open --
x
-- Makefile --
all:
-- logo.bin --
x
"""


def complete_at(
    snapshot: Snapshot, text: str, active: str = "", open_documents: tuple[str, ...] = (), limit: int = 50
) -> CompletionResult:
    at = text.index("|") if "|" in text else len(text)
    text = text.replace("|", "")
    return complete(text, at, context_of(snapshot, active, opened=open_documents), limit, count_tokens=lambda path: 100)


def inserts(result: CompletionResult) -> list[str]:
    return [item.insert_text for item in result.items]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot_of(SHOP, tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        # exact name, stem, prefix, word start, substring, path
        ("@Makefile", ["@Makefile"]),
        ("@snapshot", ["@server/snapshot.py", "@server/deep/inside/snapshot.py", "@tests/test_snapshot.py"]),
        ("@ping", ["@server/pingPong.ts", "@server/handle_ping.py", '@"docs/about pings.md"']),
        ("@hp", ["@server/handle_ping.py"]),
        ("@hdlpng", ["@server/handle_ping.py"]),
        ("@ring", ["@server/deep/spring.py"]),
        ("@inside/s", ["@server/deep/inside/snapshot.py"]),
        ("@zzz", []),
        # folder contents, folders first
        ("@server/", ["@server/deep/", "@server/handle_ping.py", "@server/pingPong.ts", "@server/snapshot.py"]),
        ("@server/p", ["@server/pingPong.ts", "@server/deep/", "@server/handle_ping.py", "@server/snapshot.py"]),
        ("@deep/", ["@server/deep/inside/", "@server/deep/spring.py"]),
        ("@server\\deep\\s", ["@server/deep/spring.py", "@server/deep/inside/"]),
        # kinds and files of the same name
        ("@op", ["@open", '@"open"']),
        # symbols
        (
            "@#re",
            [
                "@server/snapshot.py#Snapshot.read",
                "@#Snapshot.replay",
                "@#Snapshot.render",
                "@tests/test_snapshot.py#Snapshot.read",
            ],
        ),
        ("@#snapshot::repl", ["@#Snapshot.replay"]),
        ("@#pon", ["@#Pings.Pongs", "@#pingPong"]),
        (
            "@server/snapshot.py#",
            [
                "@server/snapshot.py#Snapshot",
                "@server/snapshot.py#Snapshot.read",
                "@server/snapshot.py#Snapshot.render",
                "@server/snapshot.py#take",
            ],
        ),
        # lines
        (
            "@server/snapshot.py:",
            ["@server/snapshot.py:1-6", "@server/snapshot.py:2-3", "@server/snapshot.py:5-6", "@server/snapshot.py:9"],
        ),
        ("@server/snapshot.py:5", ["@server/snapshot.py:5-6"]),
        ("@server/snapshot.py:ta", ["@server/snapshot.py:9"]),
        # quotes and escapes
        ('@"docs/about pi', ['@"docs/about pings.md"']),
        ("@about\\ pi", ['@"docs/about pings.md"']),
        # no mention at the cursor
        ("mail bob@server", []),
        ("`x` and text", []),
        ("```\n@server", []),
        ("@server ", []),
    ],
)
def test_items_in_order(shop: Snapshot, typed: str, expected: list[str]) -> None:
    result = inserts(complete_at(shop, "a line\n" + typed))
    assert result[: len(expected)] == expected
    assert bool(result) == bool(expected)


def test_items_directly_after_the_at_sign(shop: Snapshot) -> None:
    result = complete_at(shop, "@", "server/deep/spring.py", ("Makefile", "server/snapshot.py"))
    kinds = [item.insert_text for item in result.items if item.kind == "kind"]
    assert kinds[:3] == ["@active", "@selection", "@open"]
    assert "@diff" in kinds
    assert "@text:" in kinds  # requires an argument
    assert [text for text in inserts(result) if text not in kinds] == [
        "@server/deep/spring.py",
        "@Makefile",
        "@server/snapshot.py",
        "@docs/",
        "@server/",
        "@tests/",
        "@logo.bin",
        '@"open"',
    ]
    assert result.is_incomplete


def test_open_documents_come_first_within_a_tier(shop: Snapshot) -> None:
    open_documents = ("server/deep/inside/snapshot.py",)
    assert (
        inserts(complete_at(shop, "@snapshot", open_documents=open_documents))[0] == "@server/deep/inside/snapshot.py"
    )
    assert inserts(complete_at(shop, "@ping", open_documents=open_documents))[0] == "@server/pingPong.ts"
    assert (
        inserts(complete_at(shop, "@#Snapshot", open_documents=open_documents))[0]
        == "@server/deep/inside/snapshot.py#Snapshot"
    )
    assert inserts(complete_at(shop, "@#", open_documents=open_documents)) == [
        "@server/deep/inside/snapshot.py#Snapshot",
        "@#Snapshot.replay",
    ]


def test_definitions_near_the_root_are_offered_without_open_documents(tmp_path: Path) -> None:
    workspace = """
-- README.md --
# Shop
-- config.json --
{"rate": 7}
-- notes.prompt.md --
# Question
-- cart.py --
class Cart:
    def total(self): pass
-- tests/test_cart.py --
def test_total(): pass
-- shop/deep/stock.py --
def reserve(): pass
"""
    result = complete_at(snapshot_of(workspace, tmp_path), "@#")
    assert inserts(result) == ["@#Cart", "@#reserve"]
    assert result.is_incomplete


def test_open_document_is_offered_despite_the_limit(tmp_path: Path) -> None:
    workspace = "\n".join(f"-- d{i:03}/view.py --\nx = 1" for i in range(200))
    snapshot = snapshot_of(workspace, tmp_path)
    result = complete_at(snapshot, "@view", open_documents=("d199/view.py",), limit=10)
    assert inserts(result)[:2] == ["@d199/view.py", "@d000/view.py"]
    assert len(result.items) == 10
    assert result.is_incomplete


@pytest.mark.parametrize(
    ("typed", "replaced"),
    [
        ("see @serv| please", "@serv"),
        ("see @|please", "@"),
        ('see @"about pi|', '@"about pi'),
        ("see @x.py:|10-20 please", "@x.py:10-20"),
        ("see @server/sn|:10-20", "@server/sn"),
        ("see @server/sn|#Snapshot", "@server/sn"),
        ("see @server/sn|apshot.py#Snapshot.get", "@server/snapshot.py"),
        ("see @server/sn|的作用", "@server/sn"),
        ("see @server/sn|apshot.py的作用", "@server/snapshot.py"),
        ("see @docs/日|本語.md", "@docs/日本語.md"),
        ('see @"server/sn|apshot.py":10-20', '@"server/snapshot.py"'),
    ],
)
def test_replaced_range(shop: Snapshot, typed: str, replaced: str) -> None:
    result = complete_at(shop, typed)
    assert typed.replace("|", "")[result.start : result.end] == replaced


@pytest.mark.parametrize(
    ("typed", "label", "expected"),
    [
        ("see @server/sn|apshot.py:10-20", "server/snapshot.py", "see @server/snapshot.py:10-20"),
        ("@server/sn|#Snapshot.read", "server/snapshot.py", "@server/snapshot.py#Snapshot.read"),
        ("@#Snap|shot.read x", "Snapshot.replay", None),
        ("@#hand|le_ping.x", "handle_ping", "@#handle_ping.x"),
        ("@server/sn|的作用", "server/snapshot.py", "@server/snapshot.py的作用"),
        ('@"docs/about| pings.md" x', "docs/about pings.md", '@"docs/about pings.md" x'),
        ('@"docs/about| and say "hello"', "docs/about pings.md", '@"docs/about pings.md" and say "hello"'),
        ("@|please", "selection", "@selection please"),
        ("@com|mit:abc", "commit:", "@commit:abc"),
    ],
)
def test_accepted_item_keeps_the_text_after_the_cursor(
    shop: Snapshot, typed: str, label: str, expected: str | None
) -> None:
    result, text = complete_at(shop, typed), typed.replace("|", "")
    accepted = [
        text[: result.start] + item.insert_text + text[result.end :] for item in result.items if item.label == label
    ]
    assert accepted[:1] == ([expected] if expected else [])


TASKS = """
-- queue/canvas.py --
def chain(): pass
def chord(): pass
-- queue/backends/redis.py --
class MaxRetriesError(Exception): pass
-- docs/queue.backends.redis.rst --
Redis
=====
-- Changelog.rst --
Changelog
=========
"""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("@cans", "@queue/canvas.py"),
        ("@backRedis", "@queue/backends/redis.py"),
        ("@#canvas::ch", "@#chain"),
        ("@#canvas.", "@#chain"),
        ("@MaxRet", "@#MaxRetriesError"),
        ("@../queue/can", "@queue/canvas.py"),
        ("@layer:co", "@layer:core"),
        ("@tests:queue/can", "@tests:queue/canvas.py"),
    ],
)
def test_first_item_of_abbreviated_names(tmp_path: Path, typed: str, expected: str) -> None:
    assert inserts(complete_at(snapshot_of(TASKS, tmp_path), typed))[:1] == [expected]


def test_item_details(shop: Snapshot) -> None:
    (file,) = complete_at(shop, "@server/snapshot.py").items[:1]
    assert (file.label, file.kind, file.tokens) == ("server/snapshot.py", "file", 100)
    assert file.detail == "python, 9 lines"
    assert file.documentation == "Snapshot, take"
    (symbol,) = complete_at(shop, "@#Snapshot.rend").items
    assert (symbol.label, symbol.kind, symbol.tokens) == ("Snapshot.render", "method", 22)
    assert symbol.detail == "method, server/snapshot.py:5"
    assert symbol.documentation.startswith("def render(self)")
    (folder,) = complete_at(shop, "@docs").items[:1]
    assert (folder.label, folder.kind, folder.detail, folder.tokens) == ("docs/", "folder", "folder, 2 files", 7)


def test_several_roots(tmp_path: Path) -> None:
    workspace = "-- web/src/app.py --\nx = 1\n-- api/src/app.py --\ndef run(): pass\n-- api/top.py --\nx = 1"
    snapshot = snapshot_of(workspace, tmp_path, roots=("web", "api"))
    assert inserts(complete_at(snapshot, "@app")) == ["@api:src/app.py", "@web:src/app.py"]
    assert inserts(complete_at(snapshot, "@ap"))[0] == "@api:"
    assert inserts(complete_at(snapshot, "@api:")) == ["@api:src/", "@api:top.py"]
    assert inserts(complete_at(snapshot, "@api:a")) == ["@api:src/app.py", "@api:src/", "@api:top.py"]
    assert inserts(complete_at(snapshot, "@web:src/")) == ["@web:src/app.py"]
    assert inserts(complete_at(snapshot, "@src/")) == ["@api:src/app.py", "@web:src/app.py"]
    assert inserts(complete_at(snapshot, "@api:src/app.py#")) == ["@api:src/app.py#run"]
    assert inserts(complete_at(snapshot, "@api:src/app.py:")) == ["@api:src/app.py:1"]
    assert {i.insert_text for i in complete_at(snapshot, "@").items if i.kind == "root"} == {"@web:", "@api:"}


def test_arguments_of_kinds_in_several_roots(tmp_path: Path) -> None:
    workspace = "-- api/my src/app.py --\ndef run(): pass\n-- web/lib/app.py --\ndef run(): pass\n"
    snapshot = snapshot_of(workspace, tmp_path, roots=("web", "api"))
    assert inserts(complete_at(snapshot, "@tree:l")) == ["@tree:web:lib/"]
    assert inserts(complete_at(snapshot, "@map:api:")) == ['@map:"api:my src/"']
    assert inserts(complete_at(snapshot, "@callers:ru")) == [
        '@callers:"api:my src/app.py#run"',
        "@callers:web:lib/app.py#run",
    ]
    assert inserts(complete_at(snapshot, "@callers:web:lib/app.py#")) == ["@callers:web:lib/app.py#run"]
    assert inserts(complete_at(snapshot, "@path:go..ru"))[0] == '@path:"go..api:my src/app.py#run"'
    assert inserts(complete_at(snapshot, '@path:"go..api:my src/app.py#r')) == ['@path:"go..api:my src/app.py#run"']


def test_plugin_kind_is_offered(shop: Snapshot) -> None:
    diff = MentionKind(
        "snap", ("@snap:…",), "A snapshot of the tree.", registry.BUILT_IN[0].resolve, argument="required"
    )
    kinds = KindRegistry({**registry.load_kinds([]).kinds, "snap": diff})
    result = complete("@sna", 4, context_of(shop), kinds=kinds)
    assert (result.items[0].insert_text, result.items[0].detail, result.items[0].kind) == ("@snap:", diff.help, "kind")


@pytest.mark.process
def test_arguments_of_kinds(shop: Snapshot) -> None:
    assert inserts(complete_at(shop, "@diff:")) == ["@diff:staged", "@diff:unstaged", "@diff:unsaved"]
    assert inserts(complete_at(shop, "@diff:uns")) == ["@diff:unstaged", "@diff:unsaved"]
    assert inserts(complete_at(shop, "@tree:ser"))[0] == "@tree:server/"
    names = [item.insert_text.removeprefix("@#").removeprefix("@") for item in complete_at(shop, "@#Snap").items]
    assert inserts(complete_at(shop, "@callers:Snap")) == [f"@callers:{name}" for name in names]
    assert inserts(complete_at(shop, "@path:a..Snap")) == [f"@path:a..{name}" for name in names]
    assert inserts(complete_at(shop, "@callers:about pings.md#po")) == []  # a space ends an unquoted argument
    assert inserts(complete_at(shop, '@callers:"about pings.md#po')) == ['@callers:"docs/about pings.md#Pings.Pongs"']


def test_names_that_no_mention_can_contain_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("")
    snapshot = snapshot_of("-- ok.py --\n-- tab\there.py --\n-- " + "d" * 130 + "/" + "f" * 130 + ".py --\n", tmp_path)
    assert inserts(complete_at(snapshot, "@here")) == []
    assert inserts(complete_at(snapshot, "@ffff")) == []
    assert inserts(complete_at(snapshot, "@ok")) == ["@ok.py"]


def test_details_are_one_line(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- tab\there \x1b[31m.py --\ndef kite(): pass\n", tmp_path)
    (item,) = complete_at(snapshot, "@#kite").items
    assert encode_completion_item(item)["detail"] == "function, tab⟦U+0009⟧here ⟦U+001B⟧[31m.py:1"


@pytest.mark.parametrize(("text", "offset"), [("@a", -5), ("@a", 99), ("", 0), ("@", 1)])
def test_any_offset_is_accepted(shop: Snapshot, text: str, offset: int) -> None:
    result = complete(text, offset, context_of(shop))
    assert 0 <= result.start <= result.end <= len(text)
