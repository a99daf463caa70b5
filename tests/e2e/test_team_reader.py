"""The team index in prompts, mentions, searches and the status: what is shown, and every way in which it can fail."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lancedb
import msgspec
import pytest

from processes import until
from promptls.api.build_prompt import build_prompt
from promptls.api.messages import params as protocol
from promptls.api.open_workspace import open_workspace
from promptls.api.requests import CUSTOM_REQUESTS
from promptls.engine import Engine
from promptls.extensions.team.client import DAMAGED
from promptls.extensions.team.schema import CHUNK, FILE, ChunkItem
from promptls.extensions.team.storage import TABLE, Storage, open_storage
from promptls.extensions.team.table import publish
from promptls.model import CancelToken, Outline, Span, Symbol, encode_outline
from promptls.settings import Settings, TeamSettings
from teamkit import (
    BUCKET,
    MAIL,
    S3_VARIABLES,
    SHOP,
    FaultyProxy,
    build_index,
    commit_tree,
    git,
    require_team_packages,
    s3_options,
    s3_server,
    write_config,
)

require_team_packages()
pytestmark = pytest.mark.filterwarnings("ignore")  # of boto3 and werkzeug

NOTES = """
-- notes/diary.py --
def write_entry(day, text):
    "Append an entry to the diary."
    return diary.append(day, text)
"""
LIMITS = """
-- core/limits.py --
def apply_limit(amount):
    "Apply the limit to an amount."
    return min(amount, {limit})
"""
QUESTION = "Where is the value of a voucher subtracted from the total of the cart?"
WAIT_MS = 20_000
"""Limit in tests that do not measure it: CI machines are slow."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the index of four repositories, their sources and a workspace."""
    top = tmp_path_factory.mktemp("team")
    commit_tree(top / "shop", SHOP)
    commit_tree(top / "mail", MAIL)
    commit_tree(top / "notes", NOTES)
    repositories = {"acme/shop": top / "shop", "acme/mail": top / "mail"}
    for name, limit in (("ledger", 100), ("wallet", 200)):
        commit_tree(top / name, LIMITS.format(limit=limit))
        repositories[f"acme/{name}"] = top / name
    build_index(write_config(top / "team.toml", f"{top}/index", repositories), top / "cache")
    return top


@pytest.fixture(scope="module")
def s3(index: Path) -> Iterator[int]:
    """Port of an S3 server with an index of two of them."""
    with s3_server() as port:
        repositories = {"acme/shop": index / "shop", "acme/mail": index / "mail"}
        file = write_config(index / "s3.toml", f"s3://{BUCKET}/team", repositories, s3_options(port))
        build_index(file, index / "cache")
        yield port


@contextmanager
def engine_with(team: TeamSettings, *roots: Path) -> Iterator[Engine]:
    engine = open_workspace([str(root) for root in roots], Settings(team=team))
    try:
        assert engine.index.wait_until_searchable(timeout_s=60)
        yield engine
    finally:
        engine.close()


@pytest.fixture
def engine(index: Path) -> Iterator[Engine]:
    with engine_with(TeamSettings(index=f"{index}/index", deadline_ms=WAIT_MS), index / "notes") as opened:
        yield opened


def prompt(engine: Engine, message: str = QUESTION, **budget: Any) -> dict[str, Any]:
    params = {"message": message, "budget": {"tokens": 4000, **budget}}
    return build_prompt(engine, msgspec.convert(params, protocol.BuildPromptParams), CancelToken())


def request(engine: Engine, method: str, **params: Any) -> dict[str, Any]:
    kind, function = CUSTOM_REQUESTS[method]
    return function(engine, protocol.decode(kind, params), CancelToken())


def test_prompt_shows_code_of_other_repositories_with_commit_and_age(index: Path, engine: Engine) -> None:
    built = prompt(engine)
    commit = git(index / "shop", "rev-parse", "HEAD")[:10]
    assert f'path="acme/shop@{commit}/shop/cart.py (less than a day old)" lines="2-8' in built["prompt"]
    assert "self.discount = voucher.value" in built["prompt"]
    item = next(item for item in built["items"] if item["origin"] == "team")
    assert (item["range"]["start"]["line"], item["range"]["end"]["line"]) == (1, 8)
    assert built["tokens"]["used"] <= 4000 and not built["warnings"]


def test_list_for_agents_ends_with_other_repositories(index: Path, engine: Engine) -> None:
    arguments = {"query": QUESTION}
    text = request(engine, "promptls/callTool", name="search_code", arguments=arguments)["text"]
    commit = git(index / "shop", "rev-parse", "HEAD")[:10]
    assert (
        f"- acme/shop@{commit}/shop/cart.py:6-8 (less than a day old) method Cart.apply_voucher"
        in text.partition("## Other repositories")[2]
    )


@pytest.mark.parametrize("name", ["ledger", "wallet", "acme/wallet"])
def test_repository_that_the_question_names_is_preferred(engine: Engine, name: str) -> None:
    """Two repositories have the same code, apart from a number."""
    query = f"How does {name} apply a limit to an amount?"
    hit = request(engine, "promptls/search", query=query)["team"]["hits"][0]
    assert hit["repository"] == f"acme/{name.removeprefix('acme/')}"
    assert f"{hit['repository']}@" in prompt(engine, query)["prompt"]


@pytest.mark.parametrize("folder", ["shop", "shop/shop", "clone"])
def test_open_repository_is_excluded(index: Path, folder: str) -> None:
    if folder == "clone" and not (index / "clone").exists():
        git(index, "clone", "--quiet", str(index / "shop"), "clone")
    team = TeamSettings(index=f"{index}/index", deadline_ms=WAIT_MS)
    with engine_with(team, index / folder) as engine:
        hits = request(engine, "promptls/search", query="apply voucher to a letter")["team"]["hits"]
        assert hits and not [h for h in hits if h["repository"] == "acme/shop" and h["path"].startswith("shop/")]


MENTIONS = [
    ('@team:"undeliverable address"', "included", "HandleBounce"),
    ("@team:acme/shop/shop/tax.py", "included", "value_added_tax"),
    ("@team:acme/shop#Cart.total", "included", "Sum of all prices"),
    ("@team:acme/shop/shop/cart.py#apply_voucher", "included", "Reduce the total"),
    ("@team:acme/shop/gone.py", "unresolved", "has no file gone.py"),
]


def test_mentions(engine: Engine) -> None:
    for mention, status, text in MENTIONS:
        built = prompt(engine, f"Explain {mention} please.")
        (outcome,) = built["mentions"]
        assert outcome["status"] == status, (mention, outcome)
        assert text in (built["prompt"] if status == "included" else outcome["reason"]), mention


def test_mention_without_an_index_says_which_setting_names_one(index: Path) -> None:
    with engine_with(TeamSettings(), index / "notes") as engine:
        (outcome,) = prompt(engine, '@team:"vouchers" what are they?')["mentions"]
        assert (outcome["status"], "team.index" in outcome["reason"]) == ("unresolved", True)
        assert "team" not in request(engine, "promptls/status")


COMPLETIONS = [
    ("@team:", {"@team:acme/mail", "@team:acme/shop"}),
    ("@team:acme/sh", {"@team:acme/shop"}),
    ("@team:acme/shop/ca", {"@team:acme/shop/shop/cart.py"}),
    ("@team:acme/shop#vouch", {"@team:acme/shop#Cart.apply_voucher"}),
    ("@team:acme/shop/shop/tax.py#", {"@team:acme/shop/shop/tax.py#value_added_tax"}),
]


def test_completion(engine: Engine) -> None:
    assert engine.team is not None and engine.team.wait_until_open(60)
    for text, expected in COMPLETIONS:
        result = request(engine, "promptls/completeMention", text=text, offset=len(text))
        offered = {item["insertText"] for item in result["items"]}
        assert expected <= offered, (text, offered)


def test_search_graph_and_status(engine: Engine) -> None:
    team = request(engine, "promptls/search", query="value added tax")["team"]
    assert team["hits"][0]["symbol"] == "value_added_tax" and not team["message"]
    graph = request(engine, "promptls/graph", query="value added tax")
    assert "## Other repositories" in graph["markdown"] and graph["team"]["hits"]
    status = request(engine, "promptls/status")["team"]
    assert (status["state"], status["repositories"], status["message"]) == ("ready", 4, "")


def damaged_outlines() -> dict[str, bytes]:
    def cart(**changes: Any) -> bytes:
        fields = {"name": "Cart", "kind": "class", "qualified": "Cart", "signature": "class Cart", "doc": ""}
        fields |= {"span": Span(0, 8), "doc_start": 0, "body_start": 1, "parent": -1, **changes}
        return encode_outline(Outline("python", 8, (Symbol(**fields),)))

    return {
        "no outline": b"\xff\x00 words",
        "truncated": cart()[:-9],
        "lines that the file does not have": cart(span=Span(700, 900)),
        "reversed lines": cart(span=Span(5, 2)),
        "a parent that the file does not have": cart(parent=7),
        "references that the file does not have": encode_outline(Outline("python", 8, refs=b"\1\0\0\0" * 3)),
    }


def damaged_copy(index: Path, folder: Path, rows: str, **values: bytes) -> Storage:
    """Return a copy of the index with other values in rows of the file shop/cart.py."""
    shutil.copytree(index / "index", folder / "index")
    storage = open_storage(f"{folder}/index", {}, {}, {})
    lancedb.connect(storage.uri).open_table(TABLE).update(
        where=f"path = 'shop/cart.py' AND row = '{rows}'", values=values
    )
    publish(storage)
    return storage


def test_chunk_with_reversed_lines_costs_one_warning(index: Path, tmp_path: Path) -> None:
    item = ChunkItem("acme/shop", "shop/cart.py", 5, 2, "method", "Cart.apply_voucher", "value of a voucher")
    storage = damaged_copy(index, tmp_path, CHUNK, item=msgspec.msgpack.encode(item))
    with engine_with(TeamSettings(index=storage.uri, deadline_ms=WAIT_MS), index / "notes") as engine:
        built = prompt(engine)
        assert [w for w in built["warnings"] if "damaged" in w] == [DAMAGED]
        assert "cart.py" not in built["prompt"] and "tax.py" in built["prompt"]


@pytest.mark.parametrize("damage", damaged_outlines())
def test_damaged_outline_costs_one_warning(index: Path, tmp_path: Path, damage: str) -> None:
    storage = damaged_copy(index, tmp_path, FILE, outline=damaged_outlines()[damage])
    with engine_with(TeamSettings(index=storage.uri, deadline_ms=WAIT_MS), index / "notes") as engine:
        for mention in ("@team:acme/shop/shop/cart.py", "@team:acme/shop#Cart"):
            (outcome,) = prompt(engine, f"Explain {mention} please.")["mentions"]
            assert outcome["status"] == "unresolved" and "damaged outline of shop/cart.py" in outcome["reason"]
        assert "rebuild it" in request(engine, "promptls/status")["team"]["message"]
        assert "RATES" in prompt(engine, "Explain @team:acme/shop/shop/tax.py please.")["prompt"]


FAULTS = [
    ("hang", "is being opened|does not respond"),
    ("403", "access is denied"),
    ("gone", "cannot be reached|is being opened"),
    ("empty", "there is no index|not published"),
]


@pytest.mark.parametrize(("fault", "sentence"), FAULTS)
def test_unusable_storage_costs_one_sentence(
    index: Path, s3: int, monkeypatch: pytest.MonkeyPatch, fault: str, sentence: str
) -> None:
    for name, value in S3_VARIABLES.items():
        monkeypatch.setenv(name, value)
    proxy = FaultyProxy(s3)
    proxy.hangs, proxy.status = fault == "hang", int(fault) if fault.isdigit() else 0
    port = 9 if fault == "gone" else proxy.port
    storage = {"region": "us-east-1", "endpoint": f"http://127.0.0.1:{port}", "allow_http": "true"}
    secrets = {"access_key_id": "TEAM_TEST_KEY_ID", "secret_access_key": "TEAM_TEST_SECRET"}
    address = f"s3://{BUCKET}/{'nothing' if fault == 'empty' else 'team'}"
    try:
        with engine_with(TeamSettings(address, storage, secrets, deadline_ms=300), index / "notes") as engine:
            prompt(engine, "warm up")
            built = prompt(engine)

            def expected() -> bool:
                nonlocal built
                built = prompt(engine)
                return re.search(sentence, " ".join(built["warnings"])) is not None

            until(expected, f"no warning with {sentence}: {built['warnings']}")
            (warning,) = [text for text in built["warnings"] if "team index" in text]
            assert warning.count(". ") == 0 and "test-secret" not in warning
            assert not any(item["origin"] == "team" for item in built["items"])
    finally:
        proxy.close()


def test_credentials_are_required_so_that_no_metadata_service_is_queried(index: Path) -> None:
    cases = [
        (TeamSettings("s3://b/team", {"region": "eu-1"}), "access_key_id or skip_signature is missing"),
        (TeamSettings("s3://b/team", {"region": "eu-1"}, {"access_key_id": "NOT_SET_X"}), "NOT_SET_X"),
        (TeamSettings("s3://b/team", {"secret_access_key": "x"}), "is a secret"),
        (TeamSettings("ftp://b/team"), "Unknown storage"),
    ]
    for settings, text in cases:
        with engine_with(settings, index / "notes") as engine:
            (warning,) = [w for w in prompt(engine)["warnings"] if text in w]
            assert request(engine, "promptls/status")["team"]["message"] == warning
