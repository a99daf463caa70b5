"""Rule files: applicability to active files, order, imports, and exclusions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.index.files.policy import FilePolicy
from promptls.index.files.read import FileLimits
from promptls.index.snapshot import SourceReader
from promptls.knowledge.rule_files import RuleSet, collect_rules
from workspaces import context_of, snapshot_of

MONOREPO = """
-- AGENTS.md --
Use tabs.
-- src/api/AGENTS.md --
Every handler returns a Result.
-- src/CLAUDE.md --
No print in src.
-- src/api/users.py --
x = 1
-- src/api/deep/nested/thing.py --
x = 1
-- web/app.ts --
let x = 1
-- web/GEMINI.md --
Use signals.
-- .cursor/rules/python.mdc --
---
description: Python style
globs: *.py, *.pyi
alwaysApply: false
---
Type everything.
-- .cursor/rules/all.mdc --
---
alwaysApply: true
---
Be brief.
-- .cursor/rules/releases.mdc --
---
description: How to release
alwaysApply: false
---
Tag first.
-- .github/copilot-instructions.md --
Never touch vendor.
-- .github/instructions/web.instructions.md --
---
applyTo: "web/**/*.{ts,tsx}"
---
Use strict TypeScript.
-- .github/instructions/loose.instructions.md --
Only when asked for.
-- .sourcegraph/go.rule.md --
---
title: Errors
lang: go
---
Wrap errors.
-- README.md --
# Readme
"""


def gathered(text: str, top: Path, *files: str, unsaved: dict[str, str] | None = None) -> RuleSet:
    snapshot = snapshot_of(text, top, unsaved=unsaved)
    return collect_rules(context_of(snapshot).sources, [f"{snapshot.roots[0].path}/{f}" for f in files])


def labels(rules: RuleSet) -> list[str]:
    return [rule.label for rule in rules.active]


def texts(rules: RuleSet) -> list[str]:
    return [note.text for note in rules.entries]


def test_nearest_rules_come_first_and_general_rules_last(tmp_path: Path) -> None:
    rules = gathered(MONOREPO, tmp_path, "src/api/users.py")
    assert labels(rules) == [
        "src/api/AGENTS.md",
        "src/CLAUDE.md",
        ".cursor/rules/python.mdc",
        "AGENTS.md",
        ".cursor/rules/all.mdc",
        ".github/copilot-instructions.md",
    ]
    assert rules.entries[0].source == "src/api/AGENTS.md"
    assert rules.entries[0].text == "Every handler returns a Result."
    assert rules.problems == ()


def test_rules_of_other_folders_and_languages_do_not_apply(tmp_path: Path) -> None:
    assert labels(gathered(MONOREPO, tmp_path, "web/app.ts"))[:3] == [
        "web/GEMINI.md",
        ".github/instructions/web.instructions.md",
        "AGENTS.md",
    ]


def test_active_folder_has_its_own_rules(tmp_path: Path) -> None:
    assert labels(gathered(MONOREPO, tmp_path, "src/api"))[:2] == ["src/api/AGENTS.md", "src/CLAUDE.md"]
    assert labels(gathered(MONOREPO, tmp_path, "")) == labels(gathered(MONOREPO, tmp_path))


def test_most_important_file_determines_order(tmp_path: Path) -> None:
    api_first = labels(gathered(MONOREPO, tmp_path, "src/api/users.py", "web/app.ts"))
    web_first = labels(gathered(MONOREPO, tmp_path, "web/app.ts", "src/api/users.py"))
    assert api_first.index("src/CLAUDE.md") < api_first.index("web/GEMINI.md")
    assert web_first.index("web/GEMINI.md") < web_first.index("src/api/AGENTS.md")
    assert sorted(api_first) == sorted(web_first)


def test_general_rules_apply_without_files(tmp_path: Path) -> None:
    assert labels(gathered(MONOREPO, tmp_path)) == [
        "AGENTS.md",
        ".cursor/rules/all.mdc",
        ".github/copilot-instructions.md",
    ]


def test_title_of_front_matter_becomes_heading(tmp_path: Path) -> None:
    assert texts(gathered(MONOREPO + "-- a.go --\npackage a\n", tmp_path, "a.go"))[0] == "# Errors\n\nWrap errors."


# ---- conventions of each tool

LAYOUTS = [
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".clinerules/one.md",
    ".codebuddyrules",
    "CODEBUDDY.md",
    ".codebuddy/rules.md",
    ".codebuddy/rules/style.md",
    ".promptls/rules.md",
    ".promptls/rules/more/style.md",
    ".claude/CLAUDE.md",
    ".claude/rules/style.md",
    ".cursor/rules/style.mdc",
    ".windsurf/rules/style.md",
    ".sourcegraph/style.rule.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "src/.cursorrules",
    "src/.cursor/rules/a.mdc",
]


def test_locations_of_each_tool_are_found(tmp_path: Path) -> None:
    for number, name in enumerate(LAYOUTS):
        top = tmp_path / str(number)
        rules = gathered(f"-- {name} --\nDo this.\n-- src/a.py --\nx = 1\n", top, "src/a.py")
        assert (labels(rules), texts(rules), rules.problems) == ([name], ["Do this."], ())


def test_other_files_are_not_rules(tmp_path: Path) -> None:
    names = (".cursor/rules/notes.txt", ".sourcegraph/notes.md", "docs/rules.md", "other/AGENTS.md", "agents.txt")
    text = "".join(f"-- {name} --\nDo this.\n" for name in names)
    assert gathered(f"{text}-- src/a.py --\nx = 1\n", tmp_path, "src/a.py") == RuleSet()


HEADS = {
    "globs: src/**": True,
    'globs: ["lib/**", "src/*.py"]': True,
    "globs:\n  - lib/**\n  - src/**": True,
    "globs:\n- lib/**": False,
    "globs: ./src/*.py": True,
    "globs: '*.{ts,tsx}'": False,
    "globs: **/*.py # all of them": True,
    "applyTo: '**'": True,
    "languages: python": True,
    "languages: [Go, Python]": True,
    "language: PY": True,
    "globs: src/**\nlanguages: go": False,
    "trigger: always_on": True,
    "trigger: manual": False,
    "trigger: glob\nglobs:": False,
    "globs: '**'\nalwaysApply: false": True,
    "globs: ['**', '!src/**']": False,
    "alwaysApply: true\nglobs: lib/**": True,
    "always: no": False,
    "description: anything": True,
    "path_filters:\n  include: ['^src/.*\\.py$']": True,
    "path_filters:\n  include:\n    - '^lib/'\n    - 'a\\.py$'": True,
    "path_filters:\n  exclude: ['^src/']": False,
    "path_filters:\n  include: ['(x+x+)+y']": False,
    "language_filters:\n  include: [Python]": True,
    "language_filters:\n  exclude: [Python]": False,
}


@pytest.mark.parametrize("head", HEADS)
def test_front_matter_filters_files(tmp_path: Path, head: str) -> None:
    text = f"-- .promptls/rules/r.md --\n---\n{head}\n---\nDo this.\n-- src/a.py --\nx = 1\n"
    rules = gathered(text, tmp_path, "src/a.py")
    assert (texts(rules) == ["Do this."]) is HEADS[head]
    assert rules.problems == ()


def test_globs_are_relative_to_rule_folder_or_root(tmp_path: Path) -> None:
    text = "-- a/.cursor/rules/{}.mdc --\n---\nglobs: {}\n---\n{}\n"
    files = "".join(text.format(n, g, n) for n, g in (("near", "src/*.py"), ("far", "a/src/*.py"), ("off", "b/*.py")))
    rules = gathered(files + "-- a/src/x.py --\nx = 1\n", tmp_path, "a/src/x.py")
    assert sorted(texts(rules)) == ["far", "near"]


# ---- invalid front matter

WRONG = {
    "globs:\n  deep:\n    deeper: {a: b}": ("line 2", False),
    "globs: [a, b": ("line 2", False),
    "globs:\n  a: b": ("must be a list", False),
    "globs: " + "x" * 301: ("300 characters", False),
    "path_filters:\n  only: [x]": ("include and exclude", False),
    "alwaysApply: perhaps": ("must be true or false", False),
    "text_content_filters:\n  include: [x]": ("not supported", False),
    "path_filters:\n  include: ['(?=x)']": ("invalid path filter", False),
    "path_filters:\n  include: ['[']": ("invalid path filter", False),
    "description:\n  - a\n  b: c": ("", True),
    "description: x\n!!! what is this": ("", True),
}


@pytest.mark.parametrize("head", WRONG)
def test_invalid_front_matter_is_reported_and_never_ignored(tmp_path: Path, head: str) -> None:
    expected, applies = WRONG[head]
    text = f"-- .promptls/rules/r.md --\n---\n{head}\n---\nDo this.\n-- src/a.py --\nx = 1\n"
    rules = gathered(text, tmp_path, "src/a.py")
    assert [expected in problem.message for problem in rules.problems] == ([] if applies else [True])
    assert (texts(rules) == ["Do this."]) is applies


@pytest.mark.parametrize("text", ["---\nglobs: x\nDo this.", "---\n!!! nothing\n---\nDo this."])
def test_rule_with_unterminated_front_matter_is_ignored_and_reported(tmp_path: Path, text: str) -> None:
    rules = gathered(f"-- .cursor/rules/r.mdc --\n{text}\n-- a.py --\nx = 1\n", tmp_path, "a.py")
    assert texts(rules) == []
    assert ["does not end" in problem.message for problem in rules.problems] == [True]
    assert texts(gathered(f"-- AGENTS.md --\n{text}\n-- a.py --\nx = 1\n", tmp_path, "a.py")) == [text]


def test_rules_beyond_the_match_budget_are_ignored(tmp_path: Path) -> None:
    rule = "-- .sourcegraph/r{}.rule.md --\n---\npath_filters:\n  include: [{}]\n---\nx\n"
    costly = "".join(rule.format(i, ", ".join(["'a.b'"] * 16)) for i in range(70))
    name = "a" * 200 + ".py"
    rules = gathered(f"{costly}-- AGENTS.md --\nKeep.\n-- {name} --\nx = 1\n", tmp_path, name)
    assert texts(rules) == ["Keep."]
    assert any("too long to match" in problem.message for problem in rules.problems)


# ---- duplicates


@pytest.mark.parametrize("copy", ["Use  tabs.\n\n", "- @AGENTS.md\n", "@./AGENTS.md\n"])
def test_duplicate_text_is_used_once(tmp_path: Path, copy: str) -> None:
    rules = gathered(f"-- AGENTS.md --\nUse tabs.\n-- CLAUDE.md --\n{copy}-- a.py --\nx = 1\n", tmp_path, "a.py")
    assert labels(rules) == ["AGENTS.md"]
    assert texts(rules) == ["Use tabs."]
    assert rules.problems == ()


# ---- imports


def test_import_line_is_replaced_by_file(tmp_path: Path) -> None:
    files = """
-- src/CLAUDE.md --
Before.
@../docs/style.md
After, see @docs/other.md for more.
-- docs/style.md --
Style.
@more.md
-- docs/more.md --
More.
-- src/a.py --
x = 1
"""
    rules = gathered(files, tmp_path, "src/a.py")
    assert [(note.source, note.text) for note in rules.entries] == [
        ("src/CLAUDE.md", "Before."),
        ("docs/style.md", "Style.\n@more.md"),
        ("src/CLAUDE.md", "After, see @docs/other.md for more."),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("@missing.md", "does not exist"),
        ("@../../outside.md", "outside of the workspace folder"),
        ("@/etc/motd.md", "outside of the workspace folder"),
        ("@~/private.md", "outside of the workspace folder"),
        ("@CLAUDE.md", "import itself"),
        ("@hidden.md", "does not exist"),
    ],
)
def test_failed_import_stays_and_is_reported(tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / "outside.md").write_text("Secret.")
    root = tmp_path / "w"
    snapshot = snapshot_of(f"-- CLAUDE.md --\n{line}\n-- a.py --\nx = 1\n", root)
    (root / "hidden.md").write_text("Not listed by the index.")
    rules = collect_rules(context_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert texts(rules) == [line]
    assert [expected in problem.message for problem in rules.problems] == [True]


@pytest.mark.parametrize(
    "line", ["@package.json", "`@docs/style.md`", "see @docs/style.md", "```\n@docs/style.md\n```"]
)
def test_text_that_resembles_import_stays(tmp_path: Path, line: str) -> None:
    files = f"-- CLAUDE.md --\nx\n{line}\n-- docs/style.md --\nStyle.\n-- package.json --\n{{}}\n-- a.py --\nx = 1\n"
    rules = gathered(files, tmp_path, "a.py")
    assert texts(rules) == [f"x\n{line}"]
    assert rules.problems == ()


# ---- current content


def test_unsaved_document_is_used(tmp_path: Path) -> None:
    files = "-- AGENTS.md --\nOn disk.\n-- a.py --\nx = 1\n"
    assert texts(gathered(files, tmp_path, "a.py", unsaved={"AGENTS.md": "In the editor.\r\nStill.\r\n"})) == [
        "In the editor.\nStill."
    ]
    for name in (".cursor/rules/new.mdc", ".claude/CLAUDE.md"):
        rules = gathered(
            "-- src/a.py --\nx = 1\n", tmp_path / name.partition("/")[0], "src/a.py", unsaved={name: "New."}
        )
        assert texts(rules) == ["New."]


def test_rules_are_read_from_disk_for_each_request(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- AGENTS.md --\nOld.\n-- a.py --\nx = 1\n", tmp_path)
    file = tmp_path / "AGENTS.md"
    before = file.stat()
    file.write_text("New.\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "GEMINI.md").write_text("Newer.\n")
    rules = collect_rules(context_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert texts(rules) == ["New.", "Newer."]


# ---- excluded files


def with_limits(snapshot_text: str, top: Path, **limits: object) -> tuple[SourceReader, str]:
    snapshot = snapshot_of(snapshot_text, top)
    return SourceReader(snapshot, replace(FileLimits(), **limits)), snapshot.roots[0].path


def without_entry(sources: SourceReader, path: str) -> SourceReader:
    """Return sources without a file in the index, as if git ignored it."""
    return SourceReader(replace(sources.snapshot, files=sources.snapshot.files.delete(path)), sources.limits)


def test_git_ignored_rules_are_read(tmp_path: Path) -> None:
    sources, root = with_limits(
        "-- CLAUDE.local.md --\nMine.\n-- .gitignore --\n*.local.md\n-- a.py --\nx = 1\n", tmp_path
    )
    (tmp_path / ".git").mkdir()
    sources = without_entry(sources, f"{root}/CLAUDE.local.md")
    assert [n.text for n in collect_rules(sources, [f"{root}/a.py"]).entries] == ["Mine."]


@pytest.mark.parametrize("rule", ["AGENTS.md", "src/", "*.md", "src/AGENTS.md", "**/AGENTS.md"])
def test_rules_excluded_by_promptlsignore_are_not_read(tmp_path: Path, rule: str) -> None:
    text = f"-- .promptlsignore --\n{rule}\n-- src/AGENTS.md --\nMine.\n-- src/a.py --\nx = 1\n"
    sources, root = with_limits(text, tmp_path)
    sources = without_entry(sources, f"{root}/src/AGENTS.md")
    assert collect_rules(sources, [f"{root}/src/a.py"]) == RuleSet()


def test_promptlsignore_above_root_and_negation_below_apply(tmp_path: Path) -> None:
    text = "-- AGENTS.md --\nMine.\n-- a.py --\nx = 1\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / ".promptlsignore").write_text("AGENTS.md\n")
    sources, root = with_limits(text, tmp_path / "pkg")
    sources = without_entry(sources, f"{root}/AGENTS.md")
    assert collect_rules(sources, [f"{root}/a.py"]).entries == ()
    (tmp_path / "pkg" / ".promptlsignore").write_text("!AGENTS.md\n")
    assert [n.text for n in collect_rules(sources, [f"{root}/a.py"]).entries] == ["Mine."]


def test_rules_excluded_by_settings_are_not_read(tmp_path: Path) -> None:
    policy = FilePolicy(exclude=("AGENTS.md",), include=("*.py",), include_hidden=False)
    text = "-- AGENTS.md --\nMine.\n-- CLAUDE.md --\nYours.\n-- .cursorrules --\nHidden.\n-- a.py --\nx = 1\n"
    sources, root = with_limits(text, tmp_path, policy=policy)
    for name in ("AGENTS.md", "CLAUDE.md", ".cursorrules"):
        sources = without_entry(sources, f"{root}/{name}")
    assert [n.text for n in collect_rules(sources, [f"{root}/a.py"]).entries] == ["Yours.", "Hidden."]


def linked(tmp_path: Path, name: str, target: str) -> RuleSet:
    (tmp_path / "outside.md").write_text("Outside.\n")
    root = tmp_path / "w"
    snapshot = snapshot_of("-- a.py --\nx = 1\n-- docs/shared.md --\nShared.\n", root)
    (root / ".env").write_text("TOKEN=1\n")
    (root / "private.md").write_text("Ignored.\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[url]\n")
    link = root / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return collect_rules(context_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])


def test_link_to_indexed_file_is_followed(tmp_path: Path) -> None:
    assert texts(linked(tmp_path, "CLAUDE.md", "docs/shared.md")) == ["Shared."]


@pytest.mark.parametrize(
    "target", ["../outside.md", "/etc/hostname", ".env", "private.md", ".git/config", "nowhere.md", "CLAUDE.md"]
)
def test_link_to_hidden_file_is_not_followed(tmp_path: Path, target: str) -> None:
    rules = linked(tmp_path, "CLAUDE.md", target)
    assert rules.entries == ()
    assert ["CLAUDE.md" in problem.message for problem in rules.problems] == [True]


def test_linked_folder_outside_of_root_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "r.mdc").write_text("Outside.\n")
    assert linked(tmp_path, ".cursor/rules", "../../shared").entries == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"x" * 100_001, "over the limit"), (b"a\0b" * 100, "binary")],
)
def test_unreadable_rules_are_reported(tmp_path: Path, data: bytes, expected: str) -> None:
    snapshot = snapshot_of("-- a.py --\nx = 1\n", tmp_path)
    (tmp_path / "AGENTS.md").write_bytes(data)
    rules = collect_rules(context_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert rules.entries == ()
    assert [("AGENTS.md" in p.message, expected in p.message) for p in rules.problems] == [(True, True)]


def test_number_of_rule_files_is_limited(tmp_path: Path) -> None:
    many = "".join(f"-- .promptls/rules/r{i:03}.md --\nRule {i}.\n" for i in range(120))
    rules = gathered(f"{many}-- src/AGENTS.md --\nNear.\n-- src/a.py --\nx = 1\n", tmp_path, "src/a.py")
    assert len(rules.active) == 100
    assert rules.entries[0].text == "Near."
    assert "first 100" in rules.problems[0].message


# ---- multiple roots


def test_each_root_has_its_own_rules(tmp_path: Path) -> None:
    text = "-- a/AGENTS.md --\nOf a.\n-- a/x.py --\nx = 1\n-- b/AGENTS.md --\nOf b.\n-- b/y.py --\ny = 1\n"
    snapshot = snapshot_of(text, tmp_path, roots=["a", "b"])
    sources = context_of(snapshot).sources
    base = tmp_path.resolve().as_posix()
    assert [(n.source, n.text) for n in collect_rules(sources, [f"{base}/b/y.py"]).entries] == [
        ("b:AGENTS.md", "Of b.")
    ]
    assert [n.text for n in collect_rules(sources, []).entries] == ["Of a.", "Of b."]
    assert [n.text for n in collect_rules(sources, ["/elsewhere/z.py"]).entries] == ["Of a.", "Of b."]


# ---- sections


def test_long_file_is_split_at_headings(tmp_path: Path) -> None:
    def section(name: str) -> str:
        return f"## {name}\n\n" + "Do it well.\n" * 60

    text = "# All\n\n" + section("Names") + "### Empty\n\n### Inner\n\n" + "x\n" * 400 + "```\n# no heading\n```\n"
    notes = gathered(f"-- AGENTS.md --\n{text}-- a.py --\nx = 1\n", tmp_path, "a.py").entries
    assert [note.text.split("\n")[0] for note in notes] == ["# All", "### Empty"]
    assert " ".join(note.text for note in notes).split() == text.split()
    assert {note.source for note in notes} == {"AGENTS.md"}


def test_comments_are_removed(tmp_path: Path) -> None:
    text = "Do this.\n<!-- note to self\nstill -->\nDo that. <!-- kept -->\n```html\n<!-- code -->\n```\n<!-- one --> After.\n"
    assert texts(gathered(f"-- AGENTS.md --\n{text}-- a.py --\nx = 1\n", tmp_path, "a.py")) == [
        "Do this.\nDo that. <!-- kept -->\n```html\n<!-- code -->\n```\nAfter."
    ]
