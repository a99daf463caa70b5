"""Two editors, an agent and the shell on one workspace: after each step, every reader has the text that it should have.

An editor sees its own documents and otherwise the disk.  The agent and the shell see what was edited last in any editor,
and otherwise the disk.  Editors are killed and started again; the agent keeps its session.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mcpkit
from faultkit import Sandbox, closing_servers
from lsp import Client
from tally import Tries

SEED = 5
OPERATIONS = 500
FILES = 6
FUNCTION = re.compile(r"def (\w+)")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with closing_servers(Sandbox(tmp_path, files=2)) as opened:
        yield opened


class Editor:
    """An editor: its server, its documents, and when each was edited."""

    def __init__(self, start: Callable[[], Client]) -> None:
        self._start = start
        self.restart()

    def restart(self) -> None:
        self.client = self._start()
        self.documents: dict[Path, str] = {}
        self.edited: dict[Path, int] = {}  # unsaved document → number of the operation
        self._version = itertools.count(2)

    def _receive(self) -> None:
        """Return when the server has received the notifications, so that other processes may ask it for them."""
        self.client.request("promptls/mentionKinds")

    def open(self, file: Path, now: int) -> None:
        if file not in self.documents:
            self.documents[file] = file.read_text()
            self.client.open(file, self.documents[file])
            self._receive()

    def edit(self, file: Path, text: str, now: int) -> None:
        self.open(file, now)
        self.documents[file], self.edited[file] = text, now
        self.client.replace(file, next(self._version), text)
        self._receive()

    def save(self, file: Path) -> None:
        file.write_text(self.documents[file])
        self.edited.pop(file, None)
        self.client.save(file)
        self._receive()

    def close(self, file: Path) -> None:
        del self.documents[file]
        self.edited.pop(file, None)
        self.client.close(file)
        self._receive()

    def disk_changed(self, file: Path, now: int) -> None:
        """Reload a document without unsaved text, as editors do."""
        if file in self.documents and file not in self.edited and self.documents[file] != file.read_text():
            self.edit(file, file.read_text(), now)
            self.save(file)


class Team:
    """The editors, the agent and the shell, with what each must see."""

    def __init__(self, sandbox: Sandbox, agent: mcpkit.McpClient, random_: random.Random) -> None:
        self.sandbox, self.agent, self.random = sandbox, agent, random_
        self.files = [sandbox.root / f"written_{number}.py" for number in range(FILES)]
        self.names = itertools.count()
        for file in self.files:
            file.write_text(self.new_text())
        self.editors = [Editor(sandbox.start), Editor(sandbox.start)]
        self.now = 0

    def new_text(self) -> str:
        names = [f"written_function_{next(self.names)}" for _ in range(self.random.randint(1, 3))]
        padding = "# a line\n" * self.random.randint(0, 3)
        return padding + "\n\n".join(f"def {name}(value):\n    return value" for name in names) + "\n"

    def step(self) -> None:
        """Run one operation, then check one reader."""
        self.now += 1
        editor, file = self.random.choice(self.editors), self.random.choice(self.files)
        operation = self.random.choices(["edit", "save", "close", "open", "disk", "kill"], [40, 15, 10, 10, 10, 1])[0]
        if operation == "edit":
            editor.edit(file, self.new_text(), self.now)
        elif operation == "open":
            editor.open(file, self.now)
        elif operation == "save" and file in editor.documents:
            editor.save(file)
            self.reload(file)
        elif operation == "close" and file in editor.documents:
            editor.close(file)
        elif operation == "disk":
            file.write_text(self.new_text())
            self.reload(file)
        elif operation == "kill":
            editor.client.kill()
            editor.restart()
        self.check(self.random.choices(["agent", "shell", "editor"], [6, 1, 3])[0])

    def reload(self, file: Path) -> None:
        for editor in self.editors:
            editor.disk_changed(file, self.now)

    def newest(self, file: Path) -> str:
        edited = [(editor.edited[file], editor.documents[file]) for editor in self.editors if file in editor.edited]
        return max(edited)[1] if edited else file.read_text()

    def check(self, reader: str) -> None:
        file = self.random.choice(self.files)
        if reader == "editor":
            editor = self.random.choice(self.editors)
            expected = editor.documents.get(file, file.read_text())
            text = editor.client.request("promptls/read", {"places": [file.name]})["text"]
        else:
            expected = self.newest(file)
            text = self.read_as_agent(file) if reader == "agent" else self.read_in_shell(file)
        assert numbered_lines(text) == list(enumerate(expected.splitlines(), 1)), (self.now, reader, text)
        unsaved = f"{file.name}: unsaved in the editor." in text
        if reader != "editor":
            assert unsaved == (expected != file.read_text()), (self.now, reader, text)
        if reader == "agent":
            name = self.random.choice(FUNCTION.findall(expected))
            found = self.agent.tool("search_code", query=name)
            assert f"function {name}" in found, (self.now, name, found)
            existing = {one for path in self.files for one in FUNCTION.findall(self.newest(path))}
            assert set(re.findall(r"written_function_\d+", found)) <= existing, (self.now, found)

    def read_as_agent(self, file: Path) -> str:
        return self.agent.tool("read_code", places=[file.name], repeat=True)

    def read_in_shell(self, file: Path) -> str:
        command = [sys.executable, "-m", "promptls", "read", file.name]
        env = mcpkit.environment(self.sandbox.folder)
        done = subprocess.run(
            command, cwd=self.sandbox.root, env=env, capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout + done.stderr


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines of a result of `read`."""
    return [(int(number), line) for number, line in re.findall(r"^ *(\d+)\t(.*)$", text, re.MULTILINE)]


def test_every_reader_has_the_text_that_it_should_have(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    operations = int(OPERATIONS * min(1, effort))
    with mcpkit.connect(sandbox.folder, cwd=sandbox.root) as agent:
        team = Team(sandbox, agent, random.Random(SEED))
        for _ in range(operations):
            team.step()
    tries("operations", operations)
