"""Context by task: the code that a kind of request needs, and nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git, write_tree
from lsp import Client, Json, indexed_client

WORKSPACE = """
-- src/store.py --
import json


class Store:
    \"\"\"Values by key, in a file.\"\"\"

    def __init__(self, path):
        self.path = path

    def read_all(self):
        with open(self.path) as file:
            return json.load(file)

    def write_all(self, values):
        with open(self.path, "w") as file:
            json.dump(values, file)


def migrate(path):
    return Store(path).read_all()
-- src/report.py --
from src.store import Store


def print_report(path):
    values = Store(path).read_all()
    for key in sorted(values):
        print(key, values[key])
-- src/colors.py --
def mix(first, second):
    \"\"\"Mix two colors.\"\"\"
    return tuple((a + b) // 2 for a, b in zip(first, second))


def darken(color):
    return tuple(part // 2 for part in color)
-- src/theme.py --
from src.colors import darken


def dim(theme):
    return darken(theme)
-- tests/conftest.py --
import pytest


@pytest.fixture
def empty_store(tmp_path):
    return tmp_path / "store.json"
-- tests/test_store.py --
from src.store import Store


def test_written_values_are_read(empty_store):
    store = Store(empty_store)
    store.write_all({"a": 1})
    assert store.read_all() == {"a": 1}
-- README.md --
# Values

[![build](https://example.org/badge.svg)](https://example.org)

Stores values in a file and prints reports of them.

## Sponsors

Become a sponsor.
-- CODE_OF_CONDUCT.md --
# Conduct

Be kind to each other when you review a change.
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_tree(tmp_path_factory.mktemp("tasks") / "app", WORKSPACE)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    store = root / "src/store.py"
    store.write_text(store.read_text().replace("json.load(file)", "json.load(file) or {}"))
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[Client]:
    with indexed_client(root.parent / "cache", root) as client:
        yield client


PROMPTS = Path(__file__).parent / "prompts"
"""Prompts of the workspace above, to be read; `PROMPTLS_RECORD=1` writes them again."""

MESSAGES = {
    "review": "Review my change @diff",
    "tests": "Write tests for @src/store.py",
    "stack-trace": """why does this fail?

Traceback (most recent call last):
  File "/srv/app/src/report.py", line 5, in print_report
    values = Store(path).read_all()
  File "/srv/app/src/store.py", line 12, in read_all
    return json.load(file)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
""",
    "overview": "Explain the architecture of this project.",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_prompt_is_as_recorded(client: Client, name: str) -> None:
    prompt = re.sub(r"(context-|Boundary: )[0-9a-f]{12}", r"\1BOUNDARY", client.build(MESSAGES[name])["prompt"])
    file = PROMPTS / f"{name}.txt"
    if os.environ.get("PROMPTLS_RECORD"):
        PROMPTS.mkdir(exist_ok=True)
        file.write_text(prompt)
    assert prompt == file.read_text()


def places(result: Json) -> list[str]:
    """Return "path symbol" of each item of a prompt."""
    return [f"{item['path']} {item.get('symbol', '')}".strip() for item in result["items"]]


def test_recipe_review_brings_the_working_diff_unless_something_is_mentioned(client: Client) -> None:
    assert "+            return json.load(file) or {}" in client.build("please", recipe="review")["prompt"]
    alone = client.build("", recipe="review")["prompt"]
    assert "+            return json.load(file) or {}" in alone
    assert "# Question" not in alone
    mentioned = client.build("please @src/colors.py", recipe="review")["prompt"]
    assert "def darken" in mentioned
    assert "+            return" not in mentioned


def test_use_of_a_removed_function_is_shown(client: Client, root: Path) -> None:
    path = root / "src/colors.py"
    text = path.read_text()
    path.write_text(text.replace("def darken(color):\n    return tuple(part // 2 for part in color)\n", ""))
    client.files_changed(path)
    client.wait_indexed()
    assert "src/theme.py dim" in places(client.build("Review my change @diff"))
    path.write_text(text)
    client.files_changed(path)
    client.wait_indexed()


@pytest.mark.parametrize(
    "message", ["translate this comment @src/colors.py:2-2", "hello @src/colors.py:1-3", "explain @#mix step by step"]
)
def test_instruction_about_a_mention_gets_only_the_mention(client: Client, message: str) -> None:
    assert [item["origin"] for item in client.build(message)["items"]] == ["mention"]


@pytest.mark.parametrize("message", ["thanks, have a nice weekend", "what is the difference between TCP and UDP?"])
def test_message_without_need_of_context_is_the_prompt(client: Client, message: str) -> None:
    assert client.build(message)["prompt"] == message
    history = {"history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
    messages = client.build(message, context=history, output="messages")["messages"]
    assert [m["content"] for m in messages] == ["hi", "Hello.", message]


def test_follow_up_keeps_the_mentions_of_earlier_turns(client: Client) -> None:
    turns = [
        {"role": "user", "content": "what does @#darken do?"},
        {"role": "assistant", "content": "It halves each part."},
    ]
    first = client.build("and if it is odd?", context={"history": turns})["items"][0]
    assert (first["symbol"], first["origin"]) == ("darken", "task")
    alone = client.build("and if it is odd?")["items"]
    assert all(item["origin"] != "task" for item in alone)


def test_of_a_long_history_the_end_is_shown(client: Client) -> None:
    turns = [{"role": "user", "content": f"turn {n}: " + "values " * 200} for n in range(8)]
    prompt = client.build("sum up @history", context={"history": turns}, budget={"tokens": 800})["prompt"]
    assert "turn 7" in prompt
    assert "turn 0" not in prompt


def section(prompt: str, name: str) -> str:
    return prompt.partition(f' section="{name}">')[2].partition("\n</context-")[0]


def test_long_rules_are_shown_where_they_concern_the_question(client: Client, root: Path) -> None:
    filler = "".join(f"## Rule {n}\n\nName variables of kind {n} after their units.\n\n" for n in range(60))
    (root / "AGENTS.md").write_text(f"# Rules\n\n## Reports\n\nPrinted reports are sorted by key.\n\n{filler}")
    try:
        rules = section(client.build("how are reports printed?")["prompt"], "rules")
        assert "Printed reports are sorted" in rules
        assert "kind 45" not in rules
        assert "kind 45" in section(client.build("fix the printed reports")["prompt"], "rules")
    finally:
        (root / "AGENTS.md").unlink()


@pytest.mark.parametrize(
    ("question", "instruction"),
    [
        ("why isn't there an index of the colors, and what depends on the theme?", "Answer the question first"),
        ("I'd like reports to never fail on a missing file. Where is that option used?", "Answer the question first"),
        ("where do I have to rename write_all?", "Answer the question first"),
        ('print_report fails with File "src/report.py", line 5\nTypeError: no values', "Name the cause"),
        ("write a test for read_all", "Follow the existing tests"),
        ("please write a test that checks that entries of deleted files go away", "Follow the existing tests"),
        ("Review my change @diff", "Report defects first"),
        ("Explain the architecture of this project.", "Begin with what the system does"),
    ],
)
def test_special_instruction_is_given_only_for_a_certain_task(client: Client, question: str, instruction: str) -> None:
    prompt = client.build(question)["prompt"]
    assert f"# Instructions\n- {instruction}" in prompt
    assert ('section="architecture"' in prompt) is (instruction == "Begin with what the system does")


def test_request_for_a_change_has_no_instruction(client: Client) -> None:
    assert "# Instructions" not in client.build("rename write_all to save")["prompt"]


@pytest.mark.parametrize(
    ("question", "mention"),
    [
        ("Explain the architecture of this project.", "@workspace Explain the architecture of this project."),
        ("Explain the project.", "@workspace explain"),
        ("how are reports printed?", "@workspace how are reports printed?"),
    ],
)
def test_mention_of_the_workspace_changes_nothing(client: Client, question: str, mention: str) -> None:
    built = client.build(mention)
    assert places(built) == places(client.build(question))
    assert built["mentions"][0]["status"] == "included"
    assert built["prompt"].count("section=") == client.build(question)["prompt"].count("section=")


@pytest.mark.parametrize("message", ["what time is it?", "what day is it today?", "wie spät ist es"])
def test_question_about_the_time_adds_nothing(client: Client, message: str) -> None:
    assert client.build(message)["prompt"] == message
