"""Setup of agents in addition to the entry for the server: permission of the tools, a skill for their use, a check.

A skill is a file `SKILL.md` in a folder that the client reads.  Without it, agents use grep.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptls.install.client_configuration import Change, InstallError, edit_json, read_text, resolve_path
from promptls.install.clients import SERVER_NAME, Client

CHECK_TIMEOUT_S = 20.0
"""Seconds in which a server must list its tools; it takes a tenth of one unless the machine is overloaded."""
MARKER = "<!-- Written by promptls install, which replaces changes. -->"
"""Line by which `--uninstall` recognizes the skill."""
SKILL = f"""---
name: promptls
description: Find and read code of this workspace with the tools search_code, read_code and explain_symbol of the MCP server promptls. Use it for every question about where or how something is implemented, and before you change a definition.
---
{MARKER}

# Find and read code with promptls

1. **List first.** Call `search_code` with the whole question, or with a few names. It returns about 100 regions in one
   line each. The index follows every edit, so the list is current.
2. **Read what you need.** Choose the regions that matter, and call `read_code` once with all of them
   (`src/a.py:10-60`, `src/a.py#Class.method`). The line numbers are those of the files: edit without reading again.
3. **Search again with names** that you saw, if something is missing. One or two short queries are enough.
4. **Before you change a definition**, call `explain_symbol`: callers, overrides, tests, and mentions in text.
5. **Use ripgrep for exact text**: error messages, keys of configuration, every occurrence of a string.
"""


def plan_skill(client: Client, project: Path | None, home: Path, install: bool) -> Change | None:
    """Return the change that writes or removes the skill; None for a client without skills.

    Raises:
        InstallError: The file cannot be read, or a link leads out of the project.
    """
    if client.skills is None:
        return None
    folder = client.skills(home) if project is None else project / client.project_skills
    path = folder / SERVER_NAME / "SKILL.md"
    resolve_path(path, project)
    before = read_text(path)
    own = before is not None and MARKER in before
    return Change(path, before, SKILL if install else None if own else before, project)


def plan_permission(client: Client, project: Path | None, home: Path, install: bool) -> Change | None:
    """Return the change that allows the tools, or no longer does; None for a client that does not ask.

    Raises:
        InstallError: The file cannot be read or is not valid, or a link leads out of the project.
    """
    if client.permission is None:
        return None
    path = client.permission.path(home) if project is None else project / client.permission.project_path
    resolve_path(path, project)
    before = read_text(path)
    *parents, last = client.permission.keys
    name = client.permission.name
    if not install and name not in (before or ""):
        return Change(path, before, before or "", project)

    def edit(document: dict[str, Any]) -> None:
        for key in parents:
            document = document.setdefault(key, {})
        allowed = document.setdefault(last, [])
        if install and name not in allowed:
            allowed.append(name)
        elif not install and name in allowed:
            allowed.remove(name)

    shown = f"{'.'.join(client.permission.keys)}: {json.dumps(name)}"
    return Change(path, before, edit_json(path, before or "", edit, shown), project)


def check_server(command: Sequence[str]) -> tuple[str, ...]:
    """Start a server with the command of an entry; return the names of the tools that it lists.

    Raises:
        InstallError: The command does not start, or does not list the tools in `CHECK_TIMEOUT_S`.
    """
    shown = " ".join(command)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "promptls", "version": "1"}}
    messages = (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
    with tempfile.TemporaryDirectory() as folder:  # not a project, so that nothing is indexed
        words = [word.replace("${workspaceFolder}", folder) for word in command]
        try:
            process = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise InstallError(f"cannot start {shown}: {error.strerror}. Is promptls on PATH?") from None
        timer = threading.Timer(CHECK_TIMEOUT_S, process.kill)
        timer.start()
        try:
            with process:
                try:
                    assert process.stdin is not None
                    assert process.stdout is not None
                    for message in messages:
                        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                    process.stdin.flush()
                    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
                finally:
                    timer.cancel()
                    process.kill()
            return tuple(tool["name"] for tool in answers[1]["result"]["tools"])
        except (OSError, ValueError, LookupError, TypeError):  # an OSError also if the process ends before it reads
            raise InstallError(f"{shown} does not list its tools; run it in a terminal to see why.") from None
