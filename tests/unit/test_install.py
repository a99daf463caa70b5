"""Installation of the MCP server in configuration files of clients: comments and foreign entries stay as they are."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.install.agents import check_server
from promptls.install.client_configuration import BACKUP_SUFFIX, InstallError, plan_entry
from promptls.install.clients import CLIENTS
from promptls.util.decode import parse_toml


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("before", "indent", "line_end"),
    [
        ("", "  ", "\n"),
        ('{"a": [1, {"b": "}"}], "mcpServers": {"x": {}}}', "  ", "\n"),
        (
            '{\r\n\t"mcpServers": {\r\n\t\t"promptls": {"command": "old", "env": {"A": "ü"}}\r\n\t}\r\n}\r\n',
            "\t",
            "\r\n",
        ),
    ],
)
def test_entry_is_written_in_the_form_of_the_file(before: str, indent: str, line_end: str, home: Path) -> None:
    path = home / ".claude.json"
    path.write_bytes(before.encode())
    plan_entry(CLIENTS["claude-code"], None, home, install=True).write()
    text = path.read_bytes().decode()
    old, new = json.loads(before or "{}"), json.loads(text)
    entry = new["mcpServers"].pop("promptls")
    previous = old.setdefault("mcpServers", {}).pop("promptls", {})
    assert new == old and entry["args"][-1] == "mcp" and entry.get("env") == previous.get("env")
    assert f'{line_end}{indent}"mcpServers"' in text and ("\r\n" in text) == (line_end == "\r\n")
    assert plan_entry(CLIENTS["claude-code"], None, home, install=True).is_empty


def test_json_with_comments_is_not_edited_and_the_entry_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".config/zed/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  "theme": "dark" // mine\n}\n')
    assert main(["install", "zed", "--uninstall"]) == 0
    assert main(["install", "zed"]) == 1
    error = capsys.readouterr().err
    assert "is not valid JSON without comments" in error and '"context_servers": {\n    "promptls": {' in error
    assert file.read_text() == '{\n  "theme": "dark" // mine\n}\n'


TOML = '# my settings\r\nmodel = "gpt"  # best\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n\r\n[tui]\r\ntheme = "dark"\r\n'


def test_toml_keeps_comments_foreign_tables_and_line_ends(home: Path) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_bytes(TOML.encode())
    plan_entry(CLIENTS["codex"], None, home, install=True).write()
    text = path.read_bytes().decode()
    assert set(TOML.split("\r\n")) <= set(text.split("\r\n"))
    assert "\n" not in text.replace("\r\n", "")
    assert parse_toml(text)["mcp_servers"]["promptls"]["args"][-1] == "mcp"
    assert parse_toml(text)["mcp_servers"]["other"] == {"command": "x"}
    plan_entry(CLIENTS["codex"], None, home, install=False).write()
    assert parse_toml(path.read_text()) == parse_toml(TOML)


def test_link_stays_a_link_and_the_file_keeps_its_mode_and_a_backup(home: Path) -> None:
    dotfile = home / "dotfiles/claude.json"
    dotfile.parent.mkdir()
    dotfile.write_text('\ufeff{"token": "x"}')
    dotfile.chmod(0o640)
    link = home / ".claude.json"
    link.symlink_to(dotfile)
    backup = plan_entry(CLIENTS["claude-code"], None, home, install=True).write()
    assert link.is_symlink()
    assert backup == dotfile.with_name("claude.json" + BACKUP_SUFFIX)
    assert backup.read_text() == '\ufeff{"token": "x"}'
    assert dotfile.read_text().startswith('\ufeff{\n  "token": "x",\n  "mcpServers": {')
    assert dotfile.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in dotfile.parent.iterdir()) == ["claude.json", backup.name]


def test_file_that_cannot_be_changed_is_reported_and_stays(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o444)
    change = plan_entry(CLIENTS["cursor"], None, home, install=True)
    with pytest.raises(InstallError, match="is read-only; make it writable"):
        change.write()
    path.chmod(0o644)
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(InstallError, match="has changed meanwhile"):
        change.write()
    for content, problem in ((b"{,}", "is not valid JSON"), (b"\xff", "is not UTF-8")):
        path.write_bytes(content)
        with pytest.raises(InstallError, match=problem):
            plan_entry(CLIENTS["cursor"], None, home, install=True)
        assert path.read_bytes() == content
    path.unlink()
    path.symlink_to(home / "gone.json")
    with pytest.raises(InstallError, match="is a link to a file that does not exist"):
        plan_entry(CLIENTS["cursor"], None, home, install=True)


@pytest.fixture
def clone(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with hostile content as the current one, next to a file of the user."""
    (home / "bashrc").write_text("# mine\n")
    (home / "clone").mkdir()
    monkeypatch.chdir(home / "clone")
    return home / "clone"


@pytest.mark.parametrize("target", ["../bashrc", "../gone"])
def test_backup_never_follows_a_link(target: str, clone: Path) -> None:
    (clone / ".mcp.json").write_text("{}")
    (clone / f".mcp.json{BACKUP_SUFFIX}").symlink_to(target)
    assert main(["install", "claude-code", "--project"]) == 0
    assert (clone / "../bashrc").read_text() == "# mine\n" and not (clone / "../gone").exists()
    backup = clone / f".mcp.json{BACKUP_SUFFIX}"
    assert backup.read_text() == "{}" and not backup.is_symlink()


@pytest.mark.parametrize("uninstall", [(), ("--uninstall",)])
@pytest.mark.parametrize(
    ("client", "link", "target"),
    [
        ("claude-code", ".mcp.json", "../settings.json"),
        ("cursor", ".cursor", ".."),
        ("codex", ".codex", "../dotfiles"),
    ],
)
def test_link_out_of_a_project_is_refused(
    client: str, link: str, target: str, uninstall: tuple[str, ...], clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "../settings.json").write_text('{"mcpServers": {"promptls": {}, "other": {"env": "of the user"}}}')
    (clone / "../dotfiles").mkdir()
    before = sorted(clone.parent.glob("**/*.*"))
    (clone / link).symlink_to(target)
    assert main(["install", client, "--project", *uninstall]) == 1
    output = capsys.readouterr()
    assert "out of the project; remove the link first" in output.err and "of the user" not in output.out
    written = [file for file in clone.parent.glob("**/*.*") if ".local" not in file.parts]  # the log is there
    assert sorted(written) == sorted([*before, clone / link])
    assert "other" in (clone / "../settings.json").read_text()


def test_link_inside_of_a_project_is_followed(clone: Path) -> None:
    (clone / "shared").mkdir()
    (clone / ".cursor").symlink_to("shared")
    assert main(["install", "cursor", "--project"]) == 0
    assert json.loads((clone / "shared/mcp.json").read_text())["mcpServers"]["promptls"]


def test_folder_that_becomes_a_link_before_the_change_is_written_is_refused(clone: Path) -> None:
    (clone / ".cursor").mkdir()
    change = plan_entry(CLIENTS["cursor"], clone, clone.parent, install=True)
    (clone / ".cursor").rmdir()
    (clone / ".cursor").symlink_to("..")
    with pytest.raises(InstallError, match="out of the project"):
        change.write()
    assert not (clone / "../mcp.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices as files")
def test_special_and_huge_files_are_refused_at_once(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = clone / ".mcp.json"
    os.mkfifo(file)
    assert main(["install", "claude-code", "--project"]) == 1
    assert "is not a regular file" in capsys.readouterr().err
    file.unlink()
    file.mkdir()
    assert main(["install", "claude-code", "--project"]) == 1
    file.rmdir()
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)
    assert main(["install", "claude-code", "--project"]) == 1
    assert "is larger than 16 MB" in capsys.readouterr().err


def test_output_has_no_control_characters(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "a\x1b[2Jb"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / "opencode.json"
    file.write_text('{\n  "a": "\x9b2J\u202eowned"\n}\n')
    for content in (file.read_text(), "{,}"):
        file.write_text(content)
        for arguments in ([], [], ["--uninstall"]):
            main(["install", "opencode", "--project", *arguments])
    output = "".join(capsys.readouterr())
    assert "opencode.json" in output and "is not valid JSON" in output and "⟦U+202E⟧owned" in output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", output)


def test_command_shows_the_change_before_it_writes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / ".vscode/mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  "inputs": []\n}\n')
    before = file.read_text()
    assert main(["install", "vscode", "--project", "--dry-run"]) == 0
    assert '+    "promptls": {' in capsys.readouterr().out
    assert file.read_text() == before
    assert main(["install", "vscode", "--project"]) == 0
    output = capsys.readouterr().out
    assert '+        "${workspaceFolder}"' in output
    assert f"Backup: {file}{BACKUP_SUFFIX}" in output
    assert main(["install", "vscode", "--project"]) == 0
    installed, skill, started = capsys.readouterr().out.splitlines()
    assert installed == f"promptls is already installed in {file}."
    assert skill == f"promptls is already installed in {home}/.github/skills/promptls/SKILL.md."
    assert started.startswith("The server starts and offers search_code, ")
    assert main(["install", "--uninstall", "vscode", "--project"]) == 0
    assert json.loads(file.read_text()) == {"inputs": [], "servers": {}}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["notepad"], 2, "unknown client 'notepad'; valid: claude-code, codex, "),
        ([], 2, "the name of a client is required; valid: claude-code, "),
        (["windsurf", "--project"], 1, "Windsurf has no configuration in projects; omit --project."),
    ],
)
def test_usage_errors_are_sentences(
    arguments: list[str], status: int, message: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", *arguments]) == status
    assert message in capsys.readouterr().err


def parsed(path: Path) -> Any:
    return parse_toml(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


@pytest.mark.parametrize("name", CLIENTS)
def test_command_writes_entry_permission_and_skill_and_removes_them(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = CLIENTS[name]
    assert main(["install", name]) == 0
    capsys.readouterr()
    entry = parsed(client.path(home))[client.key]["promptls"]
    assert entry.get("required", name != "codex")
    assert entry.get("trust", name != "gemini-cli")
    if client.permission is not None:
        assert parsed(client.permission.path(home))["permissions"]["allow"] == ["mcp__promptls"]
    if client.skills is not None:
        skill = (client.skills(home) / "promptls/SKILL.md").read_text()
        assert skill.startswith("---\nname: promptls\ndescription: ")
        assert all(f"`{tool}`" in skill for tool in ("search_code", "read_code", "explain_symbol"))
    assert main(["install", name]) == 0
    assert "Changed" not in capsys.readouterr().out
    assert main(["install", name, "--uninstall"]) == 0
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_relative_to(home / ".local/state")]
    left = [path for path in files if BACKUP_SUFFIX not in path.name]
    assert not [path for path in left if "promptls" in path.name + path.read_text()]


def test_permissions_of_the_user_stay(home: Path) -> None:
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Bash(ls)"], "deny": ["WebFetch"]}}')
    assert main(["install", "claude-code"]) == 0
    allowed = {"allow": ["Bash(ls)", "mcp__promptls"], "deny": ["WebFetch"]}
    assert json.loads(settings.read_text())["permissions"] == allowed
    assert main(["install", "claude-code", "--uninstall"]) == 0
    assert json.loads(settings.read_text()) == {"permissions": {"allow": ["Bash(ls)"], "deny": ["WebFetch"]}}


def test_skill_of_the_user_is_not_removed(home: Path) -> None:
    skill = home / ".claude/skills/promptls/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("my own\n")
    assert main(["install", "claude-code", "--uninstall"]) == 0
    assert skill.read_text() == "my own\n"


def test_files_of_the_user_beside_the_skill_stay(home: Path) -> None:
    assert main(["install", "claude-code"]) == 0
    note = home / ".claude/skills/promptls/notes.md"
    note.write_text("my own\n")
    assert main(["install", "claude-code", "--uninstall"]) == 0
    assert [path.name for path in note.parent.iterdir()] == ["notes.md"]


def test_link_of_a_skill_out_of_the_project_is_refused(
    home: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (home / ".claude").symlink_to(outside)
    assert main(["install", "claude-code", "--project"]) == 1
    assert "out of the project" in capsys.readouterr().err
    assert list(outside.iterdir()) == []
    assert not (home / ".mcp.json").exists()


def test_command_that_does_not_start_is_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["install", "vscode", "--project"]) == 1
    assert "promptls: cannot start promptls mcp" in capsys.readouterr().err
    with pytest.raises(InstallError, match="does not list its tools"):
        check_server([sys.executable, "-c", "print('hello')"])
