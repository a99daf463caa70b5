"""Which rules hold for which files, why, in which order, and what is never read."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.index import files as disk
from promptls.index.snapshot import Sources
from promptls.knowledge.rules import Rules, codebuddy_cut, gather, rules_for
from promptls.prompt.sections import Part, fit
from promptls.prompt.tokens import counter
from workspaces import request_of, snapshot_of

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


def gathered(
    text: str, top: Path, *files: str, named: Collection[str] = (), unsaved: dict[str, str] | None = None
) -> Rules:
    snapshot = snapshot_of(text, top, unsaved=unsaved)
    return gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/{f}" for f in files], named)


def why(rules: Rules) -> dict[str, str]:
    return {rule.label: rule.reason for rule in rules.held}


def texts(rules: Rules) -> list[str]:
    return [note.text for note in rules.notes]


def test_nearest_comes_first_and_what_holds_everywhere_last(tmp_path: Path) -> None:
    rules = gathered(MONOREPO, tmp_path, "src/api/users.py")
    assert why(rules) == {
        "src/api/AGENTS.md": "folder src/api",
        "src/CLAUDE.md": "folder src",
        ".cursor/rules/python.mdc": "glob *.py, *.pyi",
        "AGENTS.md": "always",
        ".cursor/rules/all.mdc": "always",
        ".github/copilot-instructions.md": "always",
    }
    assert rules.notes[0].source == "src/api/AGENTS.md"
    assert rules.notes[0].text == "Every handler returns a Result."
    assert rules.problems == ()


def test_what_does_not_hold_says_why(tmp_path: Path) -> None:
    rules = gathered(MONOREPO, tmp_path, "src/api/users.py")
    assert {rule.label: rule.reason for rule in rules.left_out} == {
        ".cursor/rules/releases.mdc": "it holds only when it is asked for",
        ".github/instructions/web.instructions.md": "no file in play is of glob web/**/*.ts, web/**/*.tsx",
        ".github/instructions/loose.instructions.md": "it holds only when it is asked for",
        ".sourcegraph/go.rule.md": "no file in play is of language go",
    }


def test_rules_of_other_folders_and_languages_stay_out(tmp_path: Path) -> None:
    held = why(gathered(MONOREPO, tmp_path, "web/app.ts"))
    assert list(held)[:2] == ["web/GEMINI.md", ".github/instructions/web.instructions.md"]
    assert "src/CLAUDE.md" not in held
    assert ".cursor/rules/python.mdc" not in held


def test_a_file_far_below_gets_the_rules_of_all_folders_above_it(tmp_path: Path) -> None:
    assert list(why(gathered(MONOREPO, tmp_path, "src/api/deep/nested/thing.py")))[:2] == [
        "src/api/AGENTS.md",
        "src/CLAUDE.md",
    ]


def test_a_folder_in_play_has_its_own_rules(tmp_path: Path) -> None:
    held = list(why(gathered(MONOREPO, tmp_path, "src/api")))
    assert held[:2] == ["src/api/AGENTS.md", "src/CLAUDE.md"]
    assert list(why(gathered(MONOREPO, tmp_path, ""))) == list(why(gathered(MONOREPO, tmp_path)))


def test_the_most_important_file_decides_the_order(tmp_path: Path) -> None:
    api_first = list(why(gathered(MONOREPO, tmp_path, "src/api/users.py", "web/app.ts")))
    web_first = list(why(gathered(MONOREPO, tmp_path, "web/app.ts", "src/api/users.py")))
    assert api_first.index("src/CLAUDE.md") < api_first.index("web/GEMINI.md")
    assert web_first.index("web/GEMINI.md") < web_first.index("src/api/AGENTS.md")
    assert sorted(api_first) == sorted(web_first)


def test_without_files_what_holds_everywhere(tmp_path: Path) -> None:
    assert list(why(gathered(MONOREPO, tmp_path))) == [
        "AGENTS.md",
        ".cursor/rules/all.mdc",
        ".github/copilot-instructions.md",
    ]


@pytest.mark.parametrize("name", ["releases", "releases.mdc", ".cursor/rules/releases.mdc"])
def test_a_rule_that_is_asked_for_holds_and_comes_before_general_ones(tmp_path: Path, name: str) -> None:
    rules = gathered(MONOREPO, tmp_path, "README.md", named=[name])
    assert why(rules)[".cursor/rules/releases.mdc"] == "asked for"
    assert rules.notes[0].text == "Tag first."


def test_a_file_of_the_tool_is_asked_for_by_its_stem(tmp_path: Path) -> None:
    rules = gathered(MONOREPO, tmp_path, "README.md", named=["go"])
    assert why(rules)[".sourcegraph/go.rule.md"] == "asked for"
    assert "# Errors\n\nWrap errors." in texts(rules)


def test_rules_for_gives_the_notes(tmp_path: Path) -> None:
    snapshot = snapshot_of(MONOREPO, tmp_path)
    sources = request_of(snapshot).sources
    files = [f"{snapshot.roots[0].path}/web/app.ts"]
    assert rules_for(sources, files) == gather(sources, files).notes


# ---- each tool's own layout

LAYOUTS = {
    ".cursorrules": "always",
    ".windsurfrules": "always",
    ".clinerules": "always",
    ".codebuddyrules": "always",
    "CODEBUDDY.md": "always",
    ".codebuddy/rules.md": "always",
    ".codebuddy/rules/style.md": "always",
    ".promptls/rules.md": "always",
    ".promptls/rules/style.md": "always",
    ".promptls/rules/more/style.md": "always",
    ".claude/CLAUDE.md": "always",
    ".claude/rules/style.md": "always",
    ".cursor/rules/style.mdc": "always",
    ".cursor/rules/more/style.md": "always",
    ".windsurf/rules/style.md": "always",
    ".sourcegraph/style.rule.md": "always",
    "CLAUDE.local.md": "always",
    "GEMINI.md": "always",
    "src/.cursorrules": "folder src",
    "src/.cursor/rules/a.mdc": "folder src",
    "src/.sourcegraph/a.rule.md": "folder src",
    "src/.promptls/rules/a.md": "folder src",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_places_of_each_tool(tmp_path: Path, name: str) -> None:
    rules = gathered(f"-- {name} --\nDo this.\n-- src/a.py --\nx = 1\n", tmp_path, "src/a.py")
    assert why(rules) == {name: LAYOUTS[name]}
    assert texts(rules) == ["Do this."]


@pytest.mark.parametrize(
    "name",
    [
        ".cursor/rules/notes.txt",
        ".sourcegraph/notes.md",
        ".github/instructions/notes.md",
        "docs/rules.md",
        "src/rules.md",
        "other/AGENTS.md",
        "agents.txt",
    ],
)
def test_other_files_are_no_rules(tmp_path: Path, name: str) -> None:
    rules = gathered(f"-- {name} --\nDo this.\n-- src/a.py --\nx = 1\n", tmp_path, "src/a.py")
    assert rules == Rules()


def test_cline_rules_are_a_file_or_a_folder(tmp_path: Path) -> None:
    rules = gathered("-- .clinerules/one.md --\nDo this.\n-- a.py --\nx = 1\n", tmp_path, "a.py")
    assert why(rules) == {".clinerules/one.md": "always"}
    assert rules.problems == ()


HEADS = {
    "globs: src/**": True,
    "globs: 'src/**'": True,
    'globs: ["lib/**", "src/*.py"]': True,
    "globs:\n  - lib/**\n  - src/**": True,
    "globs:\n- lib/**": False,
    "globs: lib/**, docs/**": False,
    "globs: ./src/*.py": True,
    "globs: /src/*.py": True,
    "globs: '*.{ts,tsx}'": False,
    "globs: '*.{py,pyi}'": True,
    "globs: **/*.py # all of them": True,
    "paths: src": True,
    "applyTo: '**'": True,
    "languages: python": True,
    "languages: [Go, Python]": True,
    "languages: go": False,
    "language: PY": True,
    "globs: src/**\nlanguages: go": False,
    "globs: src/**\nlanguages: python": True,
    "trigger: always_on": True,
    "trigger: manual": False,
    "trigger: model_decision\ndescription: x": False,
    "trigger: glob\nglobs: '*.py'": True,
    "trigger: glob\nglobs:": False,
    "globs: '**'\nalwaysApply: false": True,
    "globs: ['**', '!src/**']": False,
    "globs: ['**', '!lib/**']": True,
    "globs: ['**']\nlanguages: go": False,
    "alwaysApply: true\nglobs: lib/**": True,
    "always: true\nlanguages: go": True,
    "always: no": False,
    "description: anything": True,
    "path_filters:\n  include: ['^src/.*\\.py$']": True,
    "path_filters:\n  include:\n    - '^lib/'\n    - 'a\\.py$'": True,
    "path_filters:\n  include: ['^lib/']": False,
    "path_filters:\n  exclude: ['^src/']": False,
    "path_filters:\n  include: ['(x+x+)+y']": False,
    "language_filters:\n  include: [Python]": True,
    "language_filters:\n  exclude: [Python]": False,
    "language_filters:\n  include: [C]": False,
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_say_which_files_a_rule_is_about(tmp_path: Path, head: str) -> None:
    text = f"-- .promptls/rules/r.md --\n---\n{head}\n---\nDo this.\n-- src/a.py --\nx = 1\n"
    rules = gathered(text, tmp_path, "src/a.py")
    assert (texts(rules) == ["Do this."]) is HEADS[head]
    assert rules.problems == ()
    assert len(rules.held) + len(rules.left_out) == 1


def test_globs_are_seen_from_the_folder_of_the_rules_and_from_the_root(tmp_path: Path) -> None:
    text = "-- a/.cursor/rules/{}.mdc --\n---\nglobs: {}\n---\n{}\n"
    files = "".join(text.format(n, g, n) for n, g in (("near", "src/*.py"), ("far", "a/src/*.py"), ("off", "b/*.py")))
    rules = gathered(files + "-- a/src/x.py --\nx = 1\n", tmp_path, "a/src/x.py")
    assert sorted(texts(rules)) == ["far", "near"]


def test_a_glob_in_a_subfolder_does_not_reach_out_of_it(tmp_path: Path) -> None:
    files = "-- a/.cursor/rules/r.mdc --\n---\nglobs: '*.py'\n---\nDo this.\n-- a/x.ts --\nx\n-- b/x.py --\nx = 1\n"
    assert texts(gathered(files, tmp_path, "b/x.py", "a/x.ts")) == []


def test_priority_comes_before_nearness(tmp_path: Path) -> None:
    files = """
-- .promptls/rules/first.md --
---
priority: 5
---
First.
-- .promptls/rules/last.md --
---
priority: -1
---
Last.
-- src/AGENTS.md --
Near.
-- AGENTS.md --
General.
-- src/a.py --
x = 1
"""
    assert texts(gathered(files, tmp_path, "src/a.py")) == ["First.", "Near.", "General.", "Last."]


# ---- heads that are wrong

WRONG = {
    "globs:\n  deep:\n    deeper: {a: b}": ("line 2", False),
    "globs: [a, b": ("line 2", False),
    "globs:\n  a: b": ("neither a list", False),
    "globs: " + "x" * 301: ("300 characters", False),
    "path_filters:\n  only: [x]": ("include and exclude", False),
    "alwaysApply: perhaps": ("neither true nor false", False),
    "text_content_filters:\n  include: [x]": ("not supported", False),
    "path_filters:\n  include: ['(?=x)']": ('"(?"', False),
    "path_filters:\n  include: ['[']": ('"["', False),
    "description:\n  - a\n  b: c": ("line 2", True),
    "description: x\n!!! what is this": ("line 3", True),
}


@pytest.mark.parametrize("head", WRONG)
def test_what_is_wrong_with_a_head_is_told_and_no_filter_is_ignored(tmp_path: Path, head: str) -> None:
    said, holds = WRONG[head]
    text = f"-- .promptls/rules/r.md --\n---\n{head}\n---\nDo this.\n-- src/a.py --\nx = 1\n"
    rules = gathered(text, tmp_path, "src/a.py")
    assert [said in problem.message for problem in rules.problems] == [True]
    assert ".promptls/rules/r.md" in rules.problems[0].message
    assert (texts(rules) == ["Do this."]) is holds


@pytest.mark.parametrize("text", ["---\nglobs: x\nDo this.", "---\n!!! nothing\n---\nDo this."])
def test_a_rule_whose_head_is_none_is_left_out_and_told(tmp_path: Path, text: str) -> None:
    rules = gathered(f"-- .cursor/rules/r.mdc --\n{text}\n-- a.py --\nx = 1\n", tmp_path, "a.py", named=[])
    assert texts(rules) == []
    assert ["does not end" in problem.message for problem in rules.problems] == [True]
    assert texts(gathered(f"-- AGENTS.md --\n{text}\n-- a.py --\nx = 1\n", tmp_path, "a.py")) == [text]


def test_a_line_across_a_plain_page_is_no_head(tmp_path: Path) -> None:
    rules = gathered("-- AGENTS.md --\n---\nDo this.\n\n---\n\nDo that.\n-- a.py --\nx = 1\n", tmp_path, "a.py")
    assert texts(rules) == ["---\nDo this.\n\n---\n\nDo that."]
    assert rules.problems == ()


def test_a_costly_expression_leaves_its_rule_out(tmp_path: Path) -> None:
    rule = "-- .sourcegraph/r{}.rule.md --\n---\npath_filters:\n  include: ['a.{{150}}b']\n---\nx\n"
    costly = "".join(rule.format(i) for i in range(30))
    name = "a" * 200 + ".py"
    rules = gathered(f"{costly}-- AGENTS.md --\nKeep.\n-- {name} --\nx = 1\n", tmp_path, name)
    assert texts(rules) == ["Keep."]
    assert any("take too long" in problem.message for problem in rules.problems)


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- src/a.py --\nx = 1\n", tmp_path)
    (tmp_path / ".cursor" / "rules").mkdir(parents=True)
    (tmp_path / ".cursor" / "rules" / "r.mdc").write_bytes(b"\xef\xbb\xbf---\r\nglobs: src/**\r\n---\r\nDo this.\r\n")
    rules = gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/src/a.py"])
    assert why(rules) == {".cursor/rules/r.mdc": "glob src/**"}
    assert texts(rules) == ["Do this."]


# ---- each text once


@pytest.mark.parametrize("copy", ["Use tabs.\n", "Use  tabs.\n\n", "@AGENTS.md\n", "- @AGENTS.md\n", "@./AGENTS.md\n"])
def test_the_same_text_comes_once(tmp_path: Path, copy: str) -> None:
    rules = gathered(f"-- AGENTS.md --\nUse tabs.\n-- CLAUDE.md --\n{copy}-- a.py --\nx = 1\n", tmp_path, "a.py")
    assert why(rules) == {"AGENTS.md": "always"}
    assert {rule.label: rule.reason for rule in rules.left_out} == {"CLAUDE.md": "the same text as AGENTS.md"}
    assert texts(rules) == ["Use tabs."]
    assert rules.problems == ()


def test_a_link_to_another_rules_file_is_that_file(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- AGENTS.md --\nUse tabs.\n-- a.py --\nx = 1\n", tmp_path)
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    rules = gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert texts(rules) == ["Use tabs."]
    assert rules.problems == ()


def test_what_a_copy_adds_is_kept(tmp_path: Path) -> None:
    files = "-- AGENTS.md --\nUse tabs.\n-- CLAUDE.md --\n@AGENTS.md\n\nThink first.\n-- a.py --\nx = 1\n"
    rules = gathered(files, tmp_path, "a.py")
    assert [(note.source, note.text) for note in rules.notes] == [
        ("AGENTS.md", "Use tabs."),
        ("CLAUDE.md", "Think first."),
    ]


# ---- imports


def test_an_import_on_its_own_line_is_put_in_its_place(tmp_path: Path) -> None:
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
    assert [(note.source, note.text) for note in rules.notes] == [
        ("src/CLAUDE.md", "Before."),
        ("docs/style.md", "Style.\n@more.md"),
        ("src/CLAUDE.md", "After, see @docs/other.md for more."),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("@missing.md", "no such file"),
        ("@../../outside.md", "same workspace folder"),
        ("@/etc/motd.md", "same workspace folder"),
        ("@~/private.md", "same workspace folder"),
        ("@CLAUDE.md", "the file itself"),
        ("@hidden.md", "no such file"),
    ],
)
def test_an_import_that_is_not_followed_stays_and_is_told(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "outside.md").write_text("Secret.")
    root = tmp_path / "w"
    snapshot = snapshot_of(f"-- CLAUDE.md --\n{line}\n-- a.py --\nx = 1\n", root)
    (root / "hidden.md").write_text("Not listed by the index.")
    rules = gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert texts(rules) == [line]
    assert [said in problem.message for problem in rules.problems] == [True]


@pytest.mark.parametrize("line", ["@package.json", "`@docs/style.md`", "    see @docs/style.md", "@user", "@a@b.md"])
def test_what_only_looks_like_an_import_stays(tmp_path: Path, line: str) -> None:
    files = f"-- CLAUDE.md --\nx\n{line}\n-- docs/style.md --\nStyle.\n-- package.json --\n{{}}\n-- a.py --\nx = 1\n"
    rules = gathered(files, tmp_path, "a.py")
    assert texts(rules) == [f"x\n{line}"]
    assert rules.problems == ()


def test_an_import_in_code_stays(tmp_path: Path) -> None:
    files = "-- CLAUDE.md --\n```\n@docs/style.md\n```\n-- docs/style.md --\nStyle.\n-- a.py --\nx = 1\n"
    assert texts(gathered(files, tmp_path, "a.py")) == ["```\n@docs/style.md\n```"]


# ---- freshness


def test_an_unsaved_buffer_counts(tmp_path: Path) -> None:
    files = "-- AGENTS.md --\nOn disk.\n-- a.py --\nx = 1\n"
    assert texts(gathered(files, tmp_path, "a.py", unsaved={"AGENTS.md": "In the editor.\r\nStill.\r\n"})) == [
        "In the editor.\nStill."
    ]


@pytest.mark.parametrize("name", ["AGENTS.md", "src/CLAUDE.md", ".cursor/rules/new.mdc", ".claude/CLAUDE.md"])
def test_a_buffer_that_was_never_saved_counts(tmp_path: Path, name: str) -> None:
    rules = gathered("-- src/a.py --\nx = 1\n", tmp_path, "src/a.py", unsaved={name: "New."})
    assert texts(rules) == ["New."]


def test_the_disk_is_read_as_it_is_now(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- AGENTS.md --\nOld.\n-- a.py --\nx = 1\n", tmp_path)
    file = tmp_path / "AGENTS.md"
    before = file.stat()
    file.write_text("New.\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "GEMINI.md").write_text("Newer.\n")
    rules = gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert texts(rules) == ["New.", "Newer."]


# ---- what may be read


def with_limits(snapshot_text: str, top: Path, **limits: object) -> tuple[Sources, str]:
    snapshot = snapshot_of(snapshot_text, top)
    return Sources(snapshot, replace(disk.Limits(), **limits)), snapshot.roots[0].path


def without_entry(sources: Sources, path: str) -> Sources:
    """The index does not list the file, as when git ignores it."""
    return Sources(replace(sources.snapshot, files=sources.snapshot.files.delete(path)), sources.limits)


def test_what_git_ignores_is_read(tmp_path: Path) -> None:
    sources, root = with_limits(
        "-- CLAUDE.local.md --\nMine.\n-- .gitignore --\n*.local.md\n-- a.py --\nx = 1\n", tmp_path
    )
    (tmp_path / ".git").mkdir()
    sources = without_entry(sources, f"{root}/CLAUDE.local.md")
    assert [n.text for n in rules_for(sources, [f"{root}/a.py"])] == ["Mine."]


@pytest.mark.parametrize("rule", ["AGENTS.md", "src/", "*.md", "src/AGENTS.md", "**/AGENTS.md"])
def test_what_promptlsignore_names_is_not_read(tmp_path: Path, rule: str) -> None:
    text = f"-- .promptlsignore --\n{rule}\n-- src/AGENTS.md --\nMine.\n-- src/a.py --\nx = 1\n"
    sources, root = with_limits(text, tmp_path)
    sources = without_entry(sources, f"{root}/src/AGENTS.md")
    assert gather(sources, [f"{root}/src/a.py"]) == Rules()


def test_promptlsignore_above_the_root_and_again_below_count(tmp_path: Path) -> None:
    text = "-- AGENTS.md --\nMine.\n-- a.py --\nx = 1\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / ".promptlsignore").write_text("AGENTS.md\n")
    sources, root = with_limits(text, tmp_path / "pkg")
    sources = without_entry(sources, f"{root}/AGENTS.md")
    assert rules_for(sources, [f"{root}/a.py"]) == ()
    (tmp_path / "pkg" / ".promptlsignore").write_text("!AGENTS.md\n")
    assert [n.text for n in rules_for(sources, [f"{root}/a.py"])] == ["Mine."]


def test_what_the_settings_exclude_is_not_read(tmp_path: Path) -> None:
    policy = disk.Policy(exclude=("AGENTS.md",), include=("*.py",), hidden=False)
    text = "-- AGENTS.md --\nMine.\n-- CLAUDE.md --\nYours.\n-- .cursorrules --\nHidden.\n-- a.py --\nx = 1\n"
    sources, root = with_limits(text, tmp_path, policy=policy)
    for name in ("AGENTS.md", "CLAUDE.md", ".cursorrules"):
        sources = without_entry(sources, f"{root}/{name}")
    assert [n.text for n in rules_for(sources, [f"{root}/a.py"])] == ["Yours.", "Hidden."]


def linked(tmp_path: Path, name: str, target: str) -> Rules:
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
    return gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])


def test_a_link_to_a_listed_file_of_the_root_is_followed(tmp_path: Path) -> None:
    assert texts(linked(tmp_path, "CLAUDE.md", "docs/shared.md")) == ["Shared."]


@pytest.mark.parametrize(
    "target", ["../outside.md", "/etc/hostname", ".env", "private.md", ".git/config", "nowhere.md", "CLAUDE.md"]
)
def test_no_link_leads_to_what_is_not_shown_by_itself(tmp_path: Path, target: str) -> None:
    rules = linked(tmp_path, "CLAUDE.md", target)
    assert rules.notes == ()
    assert ["CLAUDE.md" in problem.message for problem in rules.problems] == [True]


def test_a_linked_folder_outside_of_the_root_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "r.mdc").write_text("Outside.\n")
    assert linked(tmp_path, ".cursor/rules", "../../shared").notes == ()


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"x" * 100_001, "over the limit"), (b"a\0b" * 100, "binary")],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, data: bytes, said: str) -> None:
    snapshot = snapshot_of("-- a.py --\nx = 1\n", tmp_path)
    (tmp_path / "AGENTS.md").write_bytes(data)
    rules = gather(request_of(snapshot).sources, [f"{snapshot.roots[0].path}/a.py"])
    assert rules.notes == ()
    assert [("AGENTS.md" in p.message, said in p.message) for p in rules.problems] == [(True, True)]


def test_a_huge_buffer_is_told(tmp_path: Path) -> None:
    rules = gathered("-- a.py --\nx = 1\n", tmp_path, "a.py", unsaved={"AGENTS.md": "x " * 60_000})
    assert rules.notes == ()
    assert "more than the 100,000 characters" in rules.problems[0].message


def test_no_more_than_so_many_rules_are_looked_at(tmp_path: Path) -> None:
    many = "".join(f"-- .promptls/rules/r{i:03}.md --\nRule {i}.\n" for i in range(120))
    rules = gathered(f"{many}-- src/AGENTS.md --\nNear.\n-- src/a.py --\nx = 1\n", tmp_path, "src/a.py")
    assert len(rules.held) == 100
    assert rules.notes[0].text == "Near."
    assert "Only 100" in rules.problems[0].message


# ---- several roots


def test_each_root_has_its_own_rules(tmp_path: Path) -> None:
    text = "-- a/AGENTS.md --\nOf a.\n-- a/x.py --\nx = 1\n-- b/AGENTS.md --\nOf b.\n-- b/y.py --\ny = 1\n"
    snapshot = snapshot_of(text, tmp_path, roots=["a", "b"])
    sources = request_of(snapshot).sources
    base = tmp_path.resolve().as_posix()
    assert [(n.source, n.text) for n in rules_for(sources, [f"{base}/b/y.py"])] == [("b:AGENTS.md", "Of b.")]
    assert [n.text for n in rules_for(sources, [])] == ["Of a.", "Of b."]
    assert [n.text for n in rules_for(sources, ["/elsewhere/z.py"])] == ["Of a.", "Of b."]


# ---- passages


def test_a_long_file_is_cut_before_its_headings(tmp_path: Path) -> None:
    def section(name: str) -> str:
        return f"## {name}\n\n" + "Do it well.\n" * 60

    text = "# All\n\n" + section("Names") + "### Empty\n\n### Inner\n\n" + "x\n" * 400 + "```\n# no heading\n```\n"
    notes = gathered(f"-- AGENTS.md --\n{text}-- a.py --\nx = 1\n", tmp_path, "a.py").notes
    assert [note.text.split("\n")[0] for note in notes] == ["# All", "### Empty"]
    assert " ".join(note.text for note in notes).split() == text.split()
    assert {note.source for note in notes} == {"AGENTS.md"}


def test_the_cap_cuts_what_is_farthest(tmp_path: Path) -> None:
    long = "".join(f"## Part {i}\n\n" + "Follow this part of the rules.\n" * 30 for i in range(20))
    files = f"-- AGENTS.md --\n{long}-- src/AGENTS.md --\nNear.\n-- src/a.py --\nx = 1\n"
    notes = gathered(files, tmp_path, "src/a.py").notes
    chars4 = counter("chars4")
    fitted = fit([Part("rules", notes, 1.0, cap=2_000)], 1_000_000, chars4)
    (section,) = fitted.sections
    assert fitted.cut == ("rules",)
    assert 1_500 < chars4.count(section.text) <= 2_000
    assert section.text.startswith("[src/AGENTS.md]\nNear.\n\n[AGENTS.md]\n## Part 0\n")


def test_comments_for_people_are_left_out(tmp_path: Path) -> None:
    text = "Do this.\n<!-- note to self\nstill -->\nDo that. <!-- kept -->\n```html\n<!-- code -->\n```\n<!-- one --> After.\n"
    assert texts(gathered(f"-- AGENTS.md --\n{text}-- a.py --\nx = 1\n", tmp_path, "a.py")) == [
        "Do this.\nDo that. <!-- kept -->\n```html\n<!-- code -->\n```\nAfter."
    ]


def test_an_empty_rule_is_none(tmp_path: Path) -> None:
    rules = gathered("-- AGENTS.md --\n\n-- .cursor/rules/r.mdc --\n---\nalwaysApply: true\n---\n", tmp_path)
    assert rules.notes == ()
    assert rules.problems == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 8_000, 8_000),
        ("a" * 9_000, 8_000),
        ("a" * 6_500 + "\n" + "b" * 2_000, 6_500),
        ("a" * 6_300 + "\n" + "b" * 2_000, 8_000),
    ],
)
def test_codebuddy_cuts_at_a_line_end_past_80_percent(text: str, kept: int) -> None:
    assert codebuddy_cut(text) == text[:kept]
