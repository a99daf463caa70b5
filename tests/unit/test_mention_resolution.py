"""Resolution of mentions in a workspace: status, targets, candidates and reasons."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from msgspec.structs import replace

from conftest import git
from graphkit import context_for
from promptls.index.files.read import FileLimits
from promptls.index.files.uris import to_uri
from promptls.index.snapshot import SourceReader
from promptls.index.workspace import with_unique_names
from promptls.mentions.context import ClientContext, EditorDiagnostic, ResolveContext
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.resolve import (
    INDEXING_NOTE,
    collect_items,
    message_syntax,
    resolve_mentions,
    undefined_symbol_names,
)
from promptls.model import Cancelled, CancelToken, Item, MentionOutcome, Origin, Root, Span
from workspaces import context_of, snapshot_of

SHOP = """
-- src/app.py --
class Server:
    def start(self):
        return 1

    def stop(self):
        return 2


def main():
    Server().start()
-- src/utils.py --
def helper():
    return 1
-- lib/utils.py --
def helper():
    return 2


class Server:
    def start(self):
        return 3
-- tests/test_utils.py --
def helper():
    return 3
-- docs/Getting Started.md --
# Getting started

text

## More

text
-- Makefile --
all:
-- app/[slug]/page.tsx --
export function Page() {
  return null;
}
-- web/index.html --
<p>hi</p>
-- .env --
TOKEN=1
-- .gitignore --
build/
*.log
"""


def summarize(outcomes: tuple[MentionOutcome, ...], top: Path) -> list[str]:
    """Return each outcome as "mention → status: targets or candidates"."""
    return [
        f"{o.mention.text} → {o.status}: {', '.join(_targets(o, top)) or ', '.join(o.candidates)}" for o in outcomes
    ]


def _targets(outcome: MentionOutcome, top: Path) -> list[str]:
    base = top.resolve().as_posix() + "/"
    return [
        f"{item.path.removeprefix(base)}"
        + (f":{item.span.label}" if item.kind not in ("file", "folder") else "")
        + (f" {item.kind} {item.symbol}" if item.symbol else "")
        for item in outcome.targets
    ]


def ask(top: Path, message: str, active: str = "", opened: tuple[str, ...] = (), **more: object) -> list[str]:
    snapshot = snapshot_of(SHOP, top)
    return summarize(resolve_mentions(message, context_of(snapshot, active, opened=opened)), top)


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@src/app.py", "included: src/app.py"),
        ("@src/../src//app.py", "included: src/app.py"),
        ("@app.py", "included: src/app.py"),
        ("@APP.PY", "included: src/app.py"),
        ("@src\\app.py", "included: src/app.py"),
        ("@Makefile", "included: Makefile"),
        ('@"docs/Getting Started.md"', "included: docs/Getting Started.md"),
        ("@docs/Getting\\ Started.md", "included: docs/Getting Started.md"),
        ("@[slug]/page.tsx", "included: app/[slug]/page.tsx"),
        ("@src/app.py:5-6", "included: src/app.py:5-6 method Server.stop"),
        ("@src/app.py:6-2", "included: src/app.py:2-6"),
        ("@src/app.py:9-", "included: src/app.py:9-10 function main"),
        ("@src/app.py:8-99", "included: src/app.py:8-10"),
        ("@src/app.py:99", "omitted: "),
        ("@utils.py", "ambiguous: @lib/utils.py, @src/utils.py"),
        ("@#main", "included: src/app.py:9-10 function main"),
        ("@#Server.stop", "included: src/app.py:5-6 method Server.stop"),
        ("@#server.STOP", "included: src/app.py:5-6 method Server.stop"),
        ("@#Server", "ambiguous: @lib/utils.py#Server, @src/app.py#Server"),
        ("@#helper", "ambiguous: @lib/utils.py#helper, @src/utils.py#helper, @tests/test_utils.py#helper"),
        ("@app.py::Server::start", "included: src/app.py:2-3 method Server.start"),
        ("@app.py:main", "included: src/app.py:9-10 function main"),
        ("@lib/#helper", "included: lib/utils.py:1-2 function helper"),
        ('@#"Getting started"', "included: docs/Getting Started.md:1-7 section Getting started"),
        ("@src/", "included: src, src/app.py, src/utils.py"),
        ("@src", "included: src, src/app.py, src/utils.py"),
        ("@LIB/", "included: lib, lib/utils.py"),
        ("@src/app.py/", "included: src/app.py"),
        ("@src/nope.py", "unresolved: "),
        ("@#Nope", "unresolved: "),
        ("@.env", "refused: "),
        ("@/etc/hostname.txt", "unresolved: "),
        ("@../other.py", "refused: "),
        ("@C:\\x\\y.py", "refused: "),
        ("@~/notes.md", "refused: "),
        ("@https://example.org/x", "refused: "),
        ("@src/*.py", "included: src/app.py, src/utils.py"),
        ("@{src,lib}/utils.py", "included: lib/utils.py, src/utils.py"),
        ("@*/{app,utils}.{py,rs}", "included: lib/utils.py, src/app.py, src/utils.py"),
        ("@glob:lib/*.{py,md}", "included: lib/utils.py"),
        ("@src/" + "{a,b}" * 7 + ".py", "refused: "),
        ("@nowhere:src/app.py", "unresolved: "),
    ],
)
def test_one_mention(tmp_path: Path, mention: str, expected: str) -> None:
    assert ask(tmp_path, f"explain {mention} now") == [f"{mention} → {expected}"]


@pytest.mark.parametrize(
    ("mention", "suggestion"),
    [
        ("@src/ap.py", "@src/app.py"),
        ("@src/app", "@src/app.py"),
        ("@src/main/app.py", "@src/app.py"),
        ("@page.ts", "@app/[slug]/page.tsx"),
        ("@src/zzz.qqq", "@src/"),
        ("@zzzqqq.py", ""),
        ("@sr/", "@src/"),
        ("@#Sever", "@#Server"),
        ("@src/ap.py:2-3", "@src/app.py:2-3"),
        ("@src/app.py#helper", "@lib/utils.py#helper"),
        ("@src/app.py:99", "@src/app.py:10"),
        ("@nowhere:src/app.py:2-3", "@src/app.py:2-3"),
        ("see @utils for it", "@lib/utils.py"),
    ],
)
def test_suggestions(tmp_path: Path, mention: str, suggestion: str) -> None:
    (outcome,) = resolve_mentions(mention, context_of(snapshot_of(SHOP, tmp_path)))
    assert outcome.suggestion == suggestion


@pytest.mark.parametrize("mention", ["@#Task.retyr", "@#Task::retyr", "@symbol:Task.retyr", "@task.py:Task.retyr"])
def test_suggestion_for_a_member_keeps_the_qualifier(tmp_path: Path, mention: str) -> None:
    files = "-- task.py --\nRETRY = 3\n\n\nclass Task:\n    def retry(self):\n        return RETRY\n"
    (outcome,) = resolve_mentions(mention, context_for(files, tmp_path))
    assert outcome.status == "unresolved"
    assert outcome.suggestion.endswith(("Task.retry", "Task::retry"))
    assert outcome.reason


@pytest.mark.parametrize(
    "text",
    [
        "@test and @Test in passing",
        "class A:\n    @property\n    def x(self): ...",
        "@utils\ndef decorated(): ...",
        "@Override\npublic void run()",
        '@app.route("/x")',
        "npm install @types/node @babel/core@7.1.0",
        "@nobody: hello",
        "mail bob@example.com",
    ],
)
def test_text_without_outcome(tmp_path: Path, text: str) -> None:
    assert ask(tmp_path, text) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no mention", set()),
        ("@#Nope.run and @callers:missing and @#Other::new, @src/app.py#Third", {"run", "missing", "new", "Third"}),
        ("@#helper is defined, @nope.py is a file", set()),
        ("@#" + "long" * 100, set()),
    ],
)
def test_undefined_symbol_names(tmp_path: Path, message: str, expected: set[str]) -> None:
    snapshot = snapshot_of(SHOP + "-- src/helper.py --\ndef helper(): ...\n", tmp_path)
    assert undefined_symbol_names(message_syntax(message).mentions, snapshot) == expected


def test_unresolved_mentions_note_that_indexing_is_in_progress(tmp_path: Path) -> None:
    context = context_of(snapshot_of(SHOP, tmp_path))
    context = replace(context, is_partial=lambda: True)
    outcomes = resolve_mentions("@#Nope @nope.py @src/nope/ @src/app.py", context)
    noted = [outcome.reason.endswith(INDEXING_NOTE) for outcome in outcomes]
    assert noted == [True, True, True, False]


@pytest.mark.parametrize(
    ("active", "opened", "expected", "why"),
    [
        ("lib/utils.py", (), "included: lib/utils.py", "active document"),
        ("src/app.py", ("tests/test_utils.py", "lib/utils.py"), "included: lib/utils.py", "open"),
        ("src/app.py", (), "included: src/utils.py", "in the folder of the active document"),
        ("web/index.html", (), "ambiguous: @lib/utils.py, @src/utils.py", "choose one"),
        ("web/index.html", ("src/utils.py", "lib/utils.py"), "ambiguous: @src/utils.py, @lib/utils.py", "choose one"),
    ],
)
def test_editor_state_selects_one_of_several_files(
    tmp_path: Path, active: str, opened: tuple[str, ...], expected: str, why: str
) -> None:
    context = context_of(snapshot_of(SHOP, tmp_path), active, opened=opened)
    (outcome,) = resolve_mentions("@utils.py", context)
    assert summarize((outcome,), tmp_path) == [f"@utils.py → {expected}"]
    assert why in outcome.reason


def test_candidates_keep_lines_and_come_nearest_first(tmp_path: Path) -> None:
    context = context_of(snapshot_of(SHOP, tmp_path), "lib/other.py", opened=("lib/utils.py", "src/utils.py"))
    (outcome,) = resolve_mentions("@utils.py:1-2", context)
    assert outcome.candidates == ("@lib/utils.py:1-2", "@src/utils.py:1-2")


@pytest.mark.process
def test_refusal_names_the_ignore_rule(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    for name in ("build/out.py", "src/x.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    outcomes = resolve_mentions("@build/out.py @build/ @src/x.log @.env", context_of(snapshot))
    assert [o.status for o in outcomes] == ["refused"] * 4
    assert outcomes[0].reason == 'build/out.py is ignored by the rule "build/" (.gitignore, line 1).'
    assert '"*.log" (.gitignore, line 2)' in outcomes[2].reason
    assert "secrets" in outcomes[3].reason


@pytest.mark.process
def test_unindexed_files_are_found_on_disk(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    (tmp_path / "src/made.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "src/image.bin").write_bytes(b"\0\1\2\3" * 100)
    (tmp_path / "empty").mkdir()
    outcomes = resolve_mentions("@src/made.py @src/made.py:2 @src/image.bin @empty/ @empty", context_of(snapshot))
    assert summarize(outcomes, tmp_path) == [
        "@src/made.py → included: src/made.py",
        "@src/made.py:2 → included: src/made.py:2 variable b",
        "@src/image.bin → omitted: ",
        "@empty/ → omitted: ",
        "@empty → omitted: ",
    ]
    assert "binary" in outcomes[2].reason
    assert "no indexed files" in outcomes[3].reason


def test_generated_file_can_be_mentioned(tmp_path: Path) -> None:
    workspace = SHOP + "-- src/gen.py --\n# Code generated by x. DO NOT EDIT.\na = 1\n"
    (outcome,) = resolve_mentions("@src/gen.py", context_of(snapshot_of(workspace, tmp_path)))
    assert outcome.status == "included"
    assert outcome.targets[0].span == Span(0, 2)
    assert "generated" in outcome.reason


def test_deleted_and_changed_files(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    (tmp_path / "src/utils.py").unlink()
    (tmp_path / "src/app.py").write_text("def main():\n    pass\n")
    outcomes = resolve_mentions("@src/utils.py @src/app.py @#main @#Server.stop", context_of(snapshot))
    assert summarize(outcomes, tmp_path) == [
        "@src/utils.py → omitted: ",
        "@src/app.py → included: src/app.py",
        "@#main → included: src/app.py:1-2 function main",
        "@#Server.stop → omitted: ",
    ]
    assert "does not exist" in outcomes[0].reason
    assert "it was deleted" in outcomes[3].reason


@pytest.mark.process
def test_unsaved_text_has_priority_over_disk(tmp_path: Path) -> None:
    unsaved = {"src/app.py": "def fresh():\n    pass\n", "src/brand_new.py": "def born(): pass\n"}
    snapshot = snapshot_of(SHOP, tmp_path, unsaved=unsaved)
    outcomes = resolve_mentions("@brand_new.py @#fresh @#born @#main @src/app.py", context_of(snapshot))
    assert summarize(outcomes, tmp_path) == [
        "@brand_new.py → included: src/brand_new.py",
        "@#fresh → included: src/app.py:1-2 function fresh",
        "@#born → included: src/brand_new.py:1 function born",
        "@#main → unresolved: ",
        "@src/app.py → included: src/app.py",
    ]
    assert outcomes[4].targets[0].span == Span(0, 2)


def test_outside_of_the_workspace_only_open_documents_can_be_mentioned(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "notes.md"
    other.parent.mkdir()
    other.write_text("# on disk\n")
    path = other.resolve().as_posix()
    workspace = tmp_path / "ws"
    closed = resolve_mentions(f"@{path}", context_of(snapshot_of(SHOP, workspace)))
    assert summarize(closed, tmp_path) == [f"@{path} → refused: "]
    opened = snapshot_of(SHOP, workspace, unsaved={path: "# typed\n"})
    context = context_of(opened, path)
    assert [o.status for o in resolve_mentions("@active @notes.md", context)] == ["included", "included"]


def test_link_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path / "ws")
    (tmp_path / "secret.py").write_text("x = 1\n")
    (tmp_path / "ws" / "out").symlink_to(tmp_path)
    (outcome,) = resolve_mentions("@out/secret.py", context_of(snapshot))
    assert outcome.status == "refused"
    assert "leads out" in outcome.reason


@pytest.mark.process
def test_links_are_not_followed(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    (tmp_path / "AGENTS.md").symlink_to(tmp_path / "src/app.py")
    (tmp_path / "outside.py").symlink_to("/dev/null")
    (tmp_path / "nowhere.py").symlink_to(tmp_path / "gone.py")
    outcomes = resolve_mentions("@AGENTS.md @outside.py @nowhere.py @never.py", context_of(snapshot))
    assert [o.status for o in outcomes] == ["refused", "refused", "refused", "unresolved"]
    assert "symbolic link" in outcomes[0].reason
    assert "leads out" in outcomes[1].reason


def test_editor_state(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    selection = (snapshot.roots[0].path + "/src/utils.py", Span(0, 2))
    context = context_of(snapshot, "src/app.py", selection, ("src/app.py", "lib/utils.py", ".env"))
    outcomes = resolve_mentions("@active @selection @open", context)
    assert summarize(outcomes, tmp_path) == [
        "@active → included: src/app.py",
        "@selection → included: src/utils.py:1-2 function helper",
        "@open → included: src/app.py, lib/utils.py",
    ]
    assert [o.targets[0].origin for o in outcomes] == [Origin.MENTION, Origin.SELECTION, Origin.MENTION]
    assert "secrets" in outcomes[2].reason
    assert all(item.score == 1.0 for o in outcomes for item in o.targets)


def test_repeated_items_are_noted(tmp_path: Path) -> None:
    context = context_of(snapshot_of(SHOP, tmp_path), "src/app.py")
    outcomes = resolve_mentions("@src/app.py @app.py @active @src/app.py:5-6 @#Server.stop @src/ @src", context)
    assert len(outcomes) == 7
    assert [o.reason.split(".")[0] for o in outcomes[1:3]] == ["Same as @src/app", "Same as @src/app"]
    assert outcomes[4].reason.startswith("Same as @src/app.py:5-6.")
    assert outcomes[6].reason.startswith("Same as @src/.")
    names = [(i.path.rsplit("/", 1)[-1], i.mention, i.group.rsplit("/", 1)[-1]) for i in collect_items(outcomes)]
    assert names == [
        ("app.py", 0, ""),
        ("app.py", 3, ""),
        ("src", 5, ""),
        ("app.py", 5, "src"),
        ("utils.py", 5, "src"),
    ]


@pytest.mark.process
def test_virtual_documents_with_different_texts_are_all_shown(tmp_path: Path) -> None:
    snapshot_of("-- a.py --\nx = 1\n", tmp_path)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(tmp_path, *arguments)
    (tmp_path / "a.py").write_text("x = 2\n")
    git(tmp_path, "add", "-A")
    context = context_of(snapshot_of("-- a.py --\nx = 3\n", tmp_path))
    context = replace(context, client=ClientContext(terminal="one\ntwo\nthree"))
    asked = "@diff:staged @diff:unstaged @diff @terminal @terminal:1 @staged"
    shown = [
        (i.mention, context.snapshot.label(i.path), text_of(context, i))
        for i in collect_items(resolve_mentions(asked, context))
    ]
    assert shown == [
        (0, "a.py (diff staged)", "-x = 1\n+x = 2"),
        (1, "a.py (diff unstaged)", "-x = 2\n+x = 3"),
        (2, "a.py (diff)", "-x = 1\n+x = 3"),
        (3, "terminal", "one\ntwo\nthree"),
        (4, "terminal (2)", "three"),
    ]


def text_of(context: ResolveContext, item: Item) -> str:
    """Return the text of an item without hunk headers."""
    text = context.sources.read_text(item.path)
    assert isinstance(text, str)
    return "\n".join(line for line in text.split("\n") if not line.startswith("@@"))


def test_symbol_in_an_ambiguous_file(tmp_path: Path) -> None:
    context = context_of(snapshot_of(SHOP, tmp_path), "src/utils.py")
    outcomes = resolve_mentions("@utils.py#helper @utils.py#Server.start @utils.py#nope", context)
    assert summarize(outcomes, tmp_path) == [
        "@utils.py#helper → ambiguous: @src/utils.py#helper, @lib/utils.py#helper",
        "@utils.py#Server.start → included: lib/utils.py:6-7 method Server.start",
        "@utils.py#nope → unresolved: ",
    ]


def test_file_uris(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    uri = to_uri(snapshot.roots[0].path + "/docs/Getting Started.md")
    outcomes = resolve_mentions(f"@{uri} @{uri}:3 @file:///etc/hosts.txt", context_of(snapshot))
    assert [o.status for o in outcomes] == ["included", "included", "unresolved"]


def test_overloads_are_resolved_together(tmp_path: Path) -> None:
    workspace = """
-- a.py --
from typing import overload

class A:
    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        pass
"""
    (outcome,) = resolve_mentions("@#A.size", context_of(snapshot_of(workspace, tmp_path)))
    assert outcome.status == "included"
    assert [item.span for item in outcome.targets] == [Span(3, 6), Span(7, 10)]
    assert "2 definitions" in outcome.reason


CLASSES = """
-- Account.java --
public class Account {
    public Account(int balance) {
        this.balance = balance;
    }
}
-- outer.py --
class Node:
    class Leaf:
        class Node:
            pass
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@#Account", "included: Account.java:1-5 class Account"),
        ("@Account.java#Account", "included: Account.java:1-5 class Account"),
        ("@#Account.Account", "included: Account.java:2-4 constructor Account.Account"),
        ("@#Node", "ambiguous: @outer.py#Node, @outer.py#Node.Leaf.Node"),
        ("@outer.py#Node", "included: outer.py:1-4 class Node"),
        ("@outer.py#Leaf.Node", "included: outer.py:3-4 class Node.Leaf.Node"),
    ],
)
def test_types_and_their_constructors(tmp_path: Path, mention: str, expected: str) -> None:
    outcomes = resolve_mentions(mention, context_of(snapshot_of(CLASSES, tmp_path)))
    assert summarize(outcomes, tmp_path) == [f"{mention} → {expected}"]


TITLES = """
-- CHANGELOG.md --
# Changelog

## [1.2.0] - 2024-01-01

text

## 1.1.0

text

## C# bindings

text
-- counter.js --
class Counter {
  #inc(n) {
    return n + 1;
  }
  inc() {
    return this.#inc(1);
  }
}
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@CHANGELOG.md#Changelog.1.1.0", "included: CHANGELOG.md:7-9 section Changelog.1.1.0"),
        ("@#1.1.0", "included: CHANGELOG.md:7-9 section Changelog.1.1.0"),
        (
            '@#"Changelog.[1.2.0] - 2024-01-01"',
            "included: CHANGELOG.md:3-5 section Changelog.[1.2.0] - 2024-01-01",
        ),
        ('@#"changelog.c# bindings"', "included: CHANGELOG.md:11-13 section Changelog.C# bindings"),
        ("@counter.js#Counter.#inc", "included: counter.js:2-4 method Counter.#inc"),
        ("@counter.js#Counter.inc", "included: counter.js:5-7 method Counter.inc"),
        ("@#Counter#bump", "unresolved: "),
        ("@#1.0", "unresolved: "),
    ],
)
def test_names_that_contain_separators(tmp_path: Path, mention: str, expected: str) -> None:
    outcomes = resolve_mentions(mention, context_of(snapshot_of(TITLES, tmp_path)))
    assert summarize(outcomes, tmp_path) == [f"{mention} → {expected}"]


MODULES = """
-- shop/pack.py --
class Box:
    def put(self): ...
def pack(): ...
-- shop/__init__.py --
def boot(): ...
class Boot: ...
-- till/pack.py --
def pack(): ...
-- crates/grep-cli/src/sink.rs --
pub fn begin() {}
-- crates/other/src/sink.rs --
pub fn begin() {}
-- net/http/client.go --
package http
func Get() {}
-- net/rpc/client.go --
package rpc
func Get() {}
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@#shop.pack.pack", "included: shop/pack.py:3 function pack"),
        ("@#till::pack::pack", "included: till/pack.py:1 function pack"),
        ("@#pack.pack", "ambiguous: @shop/pack.py#pack, @till/pack.py#pack"),
        ("@#pack.Box.put", "included: shop/pack.py:2 method Box.put"),
        ("@#shop.boot", "included: shop/__init__.py:1 function boot"),
        ("@#grep_cli::src::sink::begin", "included: crates/grep-cli/src/sink.rs:1 function begin"),
        ("@#crate::sink::begin", "ambiguous: @crates/grep-cli/src/sink.rs#begin, @crates/other/src/sink.rs#begin"),
        ("@#http.Get", "included: net/http/client.go:2 function Get"),
        ("@#nowhere.pack", "unresolved: "),
    ],
)
def test_names_qualified_by_module(tmp_path: Path, mention: str, expected: str) -> None:
    outcomes = resolve_mentions(mention, context_of(snapshot_of(MODULES, tmp_path)))
    assert summarize(outcomes, tmp_path) == [f"{mention} → {expected}"]


def test_at_most_twenty_candidates(tmp_path: Path) -> None:
    workspace = "\n".join(f"-- p{i:02}/a.py --\ndef run(): pass" for i in range(30))
    symbol, file = resolve_mentions("@#run @a.py", context_of(snapshot_of(workspace, tmp_path)))
    assert len(symbol.candidates) == len(file.candidates) == 20
    assert symbol.reason.startswith("30 definitions")


def test_large_folder_is_limited(tmp_path: Path) -> None:
    workspace = "\n".join(f"-- big/d{i % 3}/f{i:03}.txt --\nx" for i in range(250)) + "\n-- big/top.txt --\nx"
    (outcome,) = resolve_mentions("@big/", context_of(snapshot_of(workspace, tmp_path)))
    assert len(outcome.targets) == 201
    assert outcome.targets[1].path.endswith("big/top.txt")
    assert "251 files" in outcome.reason


THREE = """
-- web/src/app.py --
def run(): pass
-- api/src/app.py --
def run(): pass
-- cli/src/app.py --
def run(): pass
-- api/only.py --
x = 1
"""


def test_three_roots_with_equal_names(tmp_path: Path) -> None:
    snapshot = snapshot_of(THREE, tmp_path, roots=("web", "api", "cli"))
    message = (
        "@src/app.py @api:src/app.py @API:src/app.py @cli:app.py:1 @only.py @web: @api @api:#run @workspace @nope:x.py"
    )
    assert summarize(resolve_mentions(message, context_of(snapshot)), tmp_path) == [
        "@src/app.py → ambiguous: @api:src/app.py, @cli:src/app.py, @web:src/app.py",
        "@api:src/app.py → included: api/src/app.py",
        "@API:src/app.py → included: api/src/app.py",
        "@cli:app.py:1 → included: cli/src/app.py:1 function run",
        "@only.py → included: api/only.py",
        "@web: → included: web, web/src/app.py",
        "@api → included: api, api/only.py, api/src/app.py",
        "@api:#run → included: api/src/app.py:1 function run",
        "@workspace → included: ",
        "@nope:x.py → unresolved: ",
    ]
    assert summarize(resolve_mentions("@workspace", context_of(snapshot)), tmp_path) == [
        "@workspace → included: web, api, cli, api/only.py, api/src/app.py, cli/src/app.py, web/src/app.py"
    ]
    assert all(
        o.status == "included"
        for c in ("api", "cli")
        for o in resolve_mentions(f"@{c}:src/app.py", context_of(snapshot))
    )


def test_roots_of_one_name_are_told_apart(tmp_path: Path) -> None:
    text = "".join(f"-- {folder}/app/a.py --\ndef run(): pass\n" for folder in ("one", "two", "three"))
    snapshot = snapshot_of(text, tmp_path, roots=("one/app", "two/app", "three/app"))
    snapshot = replace(snapshot, roots=with_unique_names(snapshot.roots))
    paths = [f"{root.path}/a.py" for root in snapshot.roots]
    assert [snapshot.label(path) for path in paths] == ["app:a.py", "app (2):a.py", "app (3):a.py"]
    mentions = [mention_for(snapshot, path) for path in paths]
    assert len({*mentions}) == 3
    for mention, path in zip(mentions, paths, strict=True):
        (outcome,) = resolve_mentions(mention or "", context_of(snapshot))
        assert [target.path for target in outcome.targets] == [path], mention
    (several,) = resolve_mentions("@a.py", context_of(snapshot))
    assert sorted(several.candidates) == sorted(filter(None, mentions))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("app web", "app web"),
        ("app app app", "app|app (2)|app (3)"),
        ("app App", "app|App (2)"),
        ("app|app|app (2)", "app|app (3)|app (2)"),
    ],
)
def test_names_of_roots_are_unique(names: str, expected: str) -> None:
    roots = [Root(f"/r{n}", name, "") for n, name in enumerate(names.split("|" if "|" in names else " "))]
    assert [r.name for r in with_unique_names(roots)] == expected.split("|" if "|" in expected else " ")


@pytest.mark.process
@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@api:src/*.py", "included: api/src/app.py"),
        ("@glob:api:src/*.py", "included: api/src/app.py"),
        ("@glob:*.py", "included: web/src/app.py, api/only.py, api/src/app.py, cli/src/app.py"),
        ("@map:web:src/", "included: promptls:map web:src/, web/src/app.py"),
        ("@map:web:", "included: promptls:map web, web/src/app.py"),
        ("@tree:cli:src/", "included: promptls:tree cli:src/:1-3"),
        ("@tree:nope:src/", "unresolved: "),
        ('@text:api:src/:"def"', "included: api/src/app.py:1 function run"),
        ('@regex:api:src/app.py:"def"', "included: api/src/app.py:1 function run"),
        ("@diagnostics:api:src/app.py", "included: promptls:diagnostics:1, api/src/app.py:1 function run"),
        ("@diagnostics:api:", "included: promptls:diagnostics:1, api/src/app.py:1 function run"),
        ("@diagnostics:web:", "omitted: "),
        ("@diagnostics:nope.py", "unresolved: "),
    ],
)
def test_arguments_in_several_roots(tmp_path: Path, mention: str, expected: str) -> None:
    context = context_for(THREE, tmp_path, roots=("web", "api", "cli"))
    wrong = (EditorDiagnostic((tmp_path / "api/src/app.py").resolve().as_posix(), Span(0, 1), "wrong"),)
    context = replace(context, client=ClientContext(diagnostics=wrong))
    assert summarize(resolve_mentions(mention, context), tmp_path) == [f"{mention.rstrip(':')} → {expected}"]


def test_map_starts_with_the_most_referenced_files(tmp_path: Path) -> None:
    users = "".join(f"-- user{i}.py --\nfrom core import Cart, weigh\nCart(weigh(other()))\n" for i in range(4))
    text = f"-- other.py --\ndef other(): ...\ndef unused(): ...\n-- core.py --\nclass Cart:\n    def go(self): ...\ndef weigh(x): ...\n{users}"
    outcomes = resolve_mentions("@map", context_for(text, tmp_path))
    assert summarize(outcomes, tmp_path) == [
        "@map → included: promptls:map, core.py, other.py, user0.py, user1.py, user2.py, user3.py"
    ]


def test_unicode_normal_forms(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "größe.py") for form in ("NFC", "NFD"))
    for written in (composed, decomposed):
        snapshot = snapshot_of(f"-- src/{written} --\nx = 1", tmp_path / str(len(written)))
        for asked in (composed, decomposed):
            (outcome,) = resolve_mentions(f"@{asked}", context_of(snapshot))
            assert (outcome.status, outcome.reason) == ("included", ""), (written, asked)


def test_file_names_with_special_characters(tmp_path: Path) -> None:
    mentions = {
        "@scope.py": "@@scope.py",
        "a#b.py": '@"a#b.py"',
        "a:b.py": "@a:b.py",
        "it's.py": '@"it\'s.py"',
        "50%.py": "@50%.py",
        "a(b).py": '@"a(b).py"',
        "dot.": '@"dot."',
        "%20.py": "@%20.py",
        " s.py": '@" s.py"',
    }
    snapshot = snapshot_of("\n".join(f"-- {name} --\nx = 1" for name in mentions), tmp_path)
    outcomes = resolve_mentions(" and ".join(mentions.values()), context_of(snapshot))
    assert [o.targets[0].path.rsplit("/", 1)[-1] if o.targets else o for o in outcomes] == [*mentions]


def test_no_workspace_folder(tmp_path: Path) -> None:
    snapshot = snapshot_of("", tmp_path)
    bare = ResolveContext(SourceReader(type(snapshot)(), FileLimits()), ClientContext())
    assert [o.status for o in resolve_mentions("@a.py @workspace @dir/ @#x", bare)] == ["unresolved"] * 4


def test_cancelled_token(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    context = ResolveContext(SourceReader(snapshot_of(SHOP, tmp_path), FileLimits()), ClientContext(), token)
    with pytest.raises(Cancelled):
        resolve_mentions("@src/app.py", context)


@pytest.mark.parametrize(
    ("interface", "implementation", "mention", "path"),
    [
        ("Lamp.h", "Lamp.m", "@#Lamp.dim", "Lamp.m"),
    ],
)
def test_implementation_is_preferred_to_its_interface(
    tmp_path: Path, interface: str, implementation: str, mention: str, path: str
) -> None:
    texts = {
        "Lamp.h": "@interface Lamp : NSObject\n- (void)dim;\n@end\n",
        "Lamp.m": "@implementation Lamp\n- (void)dim {\n}\n@end\n",
    }
    text = "".join(f"-- {name} --\n{texts[name]}" for name in (interface, implementation))
    context = context_of(snapshot_of(text, tmp_path))
    [outcome] = resolve_mentions(f"explain {mention} now", context)
    assert outcome.status == "included"
    assert [item.path.rpartition("/")[2] for item in outcome.targets] == [path]
