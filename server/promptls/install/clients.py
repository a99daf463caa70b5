"""Table of the clients: where each keeps its MCP servers, permissions and skills, and the form of an entry."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

SERVER_NAME = "promptls"
"""Key of the entry."""


class Permission(Struct, frozen=True):
    """A list of allowed tools in a JSON file."""

    path: Callable[[Path], Path]  # file of the user, by the home folder
    project_path: str  # file in a project
    keys: tuple[str, ...]  # path of the list
    name: str  # element that allows all tools of the server


class Client(Struct, frozen=True):
    """A client that starts MCP servers."""

    name: str
    title: str
    path: Callable[[Path], Path]  # configuration file of the user, by the home folder
    key: str  # object or table that contains the servers
    fields: Mapping[str, Any] = {}  # of the entry, besides command and arguments
    project_path: str = ""  # configuration file in a project, "" if the client has none
    format: Literal["json", "toml"] = "json"
    project_arguments: tuple[str, ...] = ()  # arguments in a project's file, after "mcp"
    permission: Permission | None = (
        None  # None if the entry contains it, or the client does not ask for read-only tools
    )
    skills: Callable[[Path], Path] | None = None  # folder of the user's skills, None if the client has none
    project_skills: str = ""  # folder of skills in a project

    def entry(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the entry for a command."""
        if self.name == "opencode":
            return {"type": "local", "command": list(words), "enabled": True}
        return {**self.fields, "command": words[0], "args": list(words[1:])}


def _config_home(home: Path) -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def _opencode_path(home: Path) -> Path:
    folder = _config_home(home) / "opencode"
    jsonc = folder / "opencode.jsonc"
    return jsonc if jsonc.exists() else folder / "opencode.json"


def _vscode_path(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "Code" / "User" / "mcp.json"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Code" / "User" / "mcp.json"
    return _config_home(home) / "Code" / "User" / "mcp.json"


def _zed_path(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "Zed" / "settings.json"
    return (home / ".config" if sys.platform == "darwin" else _config_home(home)) / "zed" / "settings.json"


def _in_home(*parts: str) -> Callable[[Path], Path]:
    return lambda home: home.joinpath(*parts)


def _in_folder(variable: str, default: str, name: str) -> Callable[[Path], Path]:
    """Return a function for a file in a folder that an environment variable names."""
    return lambda home: Path(os.environ.get(variable) or home / default) / name


_WORKSPACE = ("--root", "${workspaceFolder}")
_STDIO = {"type": "stdio"}
_REQUIRED = {"required": True}  # otherwise Codex starts its first turn without the tools of a server that is not ready

_CLIENTS = (
    Client("claude-code", "Claude Code", _in_home(".claude.json"), "mcpServers", _STDIO, ".mcp.json",
           permission=Permission(_in_home(".claude", "settings.json"), ".claude/settings.json",
                                 ("permissions", "allow"), f"mcp__{SERVER_NAME}"),
           skills=_in_home(".claude", "skills"), project_skills=".claude/skills"),
    Client("codex", "Codex", _in_folder("CODEX_HOME", ".codex", "config.toml"), "mcp_servers", _REQUIRED,
           ".codex/config.toml", "toml",
           skills=_in_folder("CODEX_HOME", ".codex", "skills"), project_skills=".codex/skills"),
    Client("copilot-cli", "Copilot CLI", _in_home(".copilot", "mcp-config.json"), "mcpServers", {},
           skills=_in_home(".copilot", "skills")),
    Client("cursor", "Cursor", _in_home(".cursor", "mcp.json"), "mcpServers", _STDIO, ".cursor/mcp.json",
           project_arguments=_WORKSPACE),
    Client("gemini-cli", "Gemini CLI", _in_home(".gemini", "settings.json"), "mcpServers", {"trust": True},
           ".gemini/settings.json", skills=_in_home(".gemini", "skills"), project_skills=".gemini/skills"),
    Client("opencode", "opencode", _opencode_path, "mcp", {}, "opencode.json",
           skills=lambda home: _config_home(home) / "opencode" / "skills", project_skills=".opencode/skills"),
    Client("vscode", "VS Code", _vscode_path, "servers", _STDIO, ".vscode/mcp.json", project_arguments=_WORKSPACE,
           skills=_in_home(".copilot", "skills"), project_skills=".github/skills"),
    Client("windsurf", "Windsurf", _in_home(".codeium", "windsurf", "mcp_config.json"), "mcpServers"),
    Client("zed", "Zed", _zed_path, "context_servers", {}, ".zed/settings.json"),
)  # fmt: skip

CLIENTS: Mapping[str, Client] = {client.name: client for client in _CLIENTS}
"""All clients by name."""


def server_words(client: Client, project: Path | None) -> list[str]:
    """Return the words of the command in the entry of a client.

    A project's file is shared with other machines, so it relies on PATH.  Other files name this installation, because
    clients with a window do not have the PATH of a shell.
    """
    return [*installed_command(), "mcp"] if project is None else ["promptls", "mcp", *client.project_arguments]


def installed_command() -> list[str]:
    """Return the command of this installation, without a subcommand."""
    script = Path(sys.executable).with_name("promptls.exe" if sys.platform == "win32" else "promptls")
    return [str(script)] if script.exists() else [sys.executable, "-m", "promptls"]
