"""Places of the names of a question in prompts and lists, and names that no file contains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import write_tree
from lsp import Client, Json, indexed_client

FILLER = "\n".join(
    f"-- services/service_{n}.py --\ndef save_entry_{n}(entry):\n    '''Save an entry to read-later service {n}.'''\n"
    + "\n".join(f"    part_{i} = entry[{i}] + {n}" for i in range(20))
    for n in range(60)
)

WORKSPACE = f"""
-- services/linktaco.py --
class LinkTaco:
    def save(self, entry):
        return post(self.token, entry.url)
-- config/options.py --
READ_TIMEOUT = 3

LINKTACO_TOKEN = option("linktaco_token", default="")

WRITE_TIMEOUT = 4
-- web/settings.html --
<form>
  <label>Name <input name="name"></label>

  <label>Token <input name="linktaco_token"></label>

  <button>Save</button>
</form>
-- web/locales/de.json --
{{"linktaco_token": "Schlüssel für LinkTaco"}}
-- README.md --
Entries are stored in files.

## Limits

There is no Elasticsearch backend, because files are enough.

## Licence

MIT
-- tests/test_linktaco.py --
def test_linktaco_saves():
    assert LinkTaco().save(entry)
{FILLER}
"""

NEEDED = ["class LinkTaco:", 'option("linktaco_token"', '<input name="linktaco_token">']


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = write_tree(tmp_path_factory.mktemp("places") / "app", WORKSPACE)
    with indexed_client(root.parent / "cache", root) as client:
        yield client


def test_prompt_shows_where_the_feature_occurs_that_a_new_one_is_compared_with(client: Client) -> None:
    question = "I want to save entries to another read-later service, like LinkTaco. What do I have to change?"
    prompt = client.build(question, budget={"tokens": 2000})["prompt"]
    assert [text for text in NEEDED if text not in prompt] == []
    assert "READ_TIMEOUT" not in prompt  # another paragraph
    assert "Schlüssel" not in prompt
    assert "def test_linktaco_saves" not in prompt


def test_list_has_the_places_of_a_name(client: Client) -> None:
    text = client.request("promptls/list", {"query": "entries saved like LinkTaco", "budget": {"tokens": 600}})["text"]
    assert [name for name in ("linktaco.py", "options.py", "settings.html") if name not in text] == []

    within: Json = {"query": "entries saved like LinkTaco", "paths": ["config/**"], "budget": {"tokens": 600}}
    text = client.request("promptls/list", within)["text"]
    assert "options.py" in text
    assert "settings.html" not in text


def test_definition_around_mentioned_lines_comes_first(client: Client) -> None:
    prompt = client.build("why is this added? @services/service_7.py:5", budget={"tokens": 900})["prompt"]
    assert "part_0 = entry[0] + 7" in prompt
    assert "part_19 = entry[19] + 7" in prompt


def used(client: Client, question: str) -> tuple[int, str]:
    result: Json = client.build(question)
    return result["tokens"]["used"], result["prompt"]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("does this support MongoDB?", "MongoDB"),
        ("where is the GraphQL schema defined and how do I add a field?", "GraphQL"),
        ("Hi, is there a built in WebAuthn login?", "WebAuthn"),
        ("what does @#autoretry do?", "autoretry"),
    ],
)
def test_prompt_says_that_what_is_asked_for_does_not_exist(client: Client, question: str, name: str) -> None:
    tokens, prompt = used(client, question)
    assert f'No file of the workspace contains "{name}"' in prompt
    assert tokens <= 600


@pytest.mark.parametrize(
    ("question", "mentioned"),
    [
        ("which class talks to Elasticsearch?", ""),
        ("@services/linktaco.py where in here is Elasticsearch used?", "class LinkTaco:"),
    ],
)
def test_documents_are_shown_if_only_they_contain_what_is_asked_for(
    client: Client, question: str, mentioned: str
) -> None:
    tokens, prompt = used(client, question)
    assert 'No code of the workspace contains "Elasticsearch"' in prompt
    assert "There is no Elasticsearch backend" in prompt
    assert mentioned in prompt
    assert "def save_entry" not in prompt
    assert tokens <= 600


@pytest.mark.parametrize(
    "question",
    [
        "where is LinkTaco configured?",
        "where is the LinktacoToken read?",
        "how can I configure Elasticsearch to save entries?",
        "where do the docs say that Elasticsearch saves entries?",
        "add support for MongoDB as a store of entries",
        "can we get MongoDB as a store of entries?",
        "which service saves entries like MongoDB does?",
        "saving an entry fails with MongoDB in front of it, why?",
        "how does @#LinkTacos save entries?",
    ],
    ids=[
        "exists",
        "in another style",
        "asks how",
        "in documents",
        "new",
        "wished for",
        "compared",
        "not asked for",
        "misspelled",
    ],
)
def test_code_is_shown_if_the_question_is_about_existing_code(client: Client, question: str) -> None:
    _, prompt = used(client, question)
    assert "No file of the workspace contains" not in prompt
    assert "def save" in prompt
