"""Configuration of a team index: what is accepted, and one sentence for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.extensions.team.command import missing_packages
from promptls.extensions.team.storage import Storage, storage_problem
from promptls.extensions.team.team_config import TeamConfig, public_address, read_config
from promptls.model import Problem

REPOSITORY = '[[repositories]]\nurl = "https://host/acme/shop.git"\n'
INVALID = [
    ("", "missing required field `uri`"),
    ('uri = "/tmp/x"\nrepositories = []', "names no repository"),
    (f'uri = "s3://b/t"\n{REPOSITORY}', "region is missing"),
    (f'uri = "s3://b/t"\nstorage = {{ secret_access_key = "x" }}\n{REPOSITORY}', "is a secret"),
    (f'uri = "s3://b/t"\nstorage_env = {{ access_key_id = "NO_SUCH_VARIABLE" }}\n{REPOSITORY}', "NO_SUCH_VARIABLE"),
    ('uri = "/tmp/x"\n[[repositories]]\nname = "a"', "exactly one of"),
    ('uri = "/tmp/x"\n[[repositories]]\nurl = "--upload-pack=touch x"', 'begins with "-"'),
    ('uri = "/tmp/x"\n[[repositories]]\nglob = "/no/such/*.git"', "No repository matches"),
    (f'uri = "/tmp/x"\nindex = {{ maxFileSize = "big" }}\n{REPOSITORY}', "index.maxFileSize"),
    (f'uri = "/tmp/x"\n{REPOSITORY}[[repositories]]\nurl = "https://other/acme/shop"', 'called "acme/shop"'),
]


@pytest.mark.parametrize(("text", "reason"), INVALID)
def test_invalid_configuration_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "team.toml").write_text(text)
    problem = read_config(tmp_path / "team.toml", {})
    assert isinstance(problem, Problem) and reason in problem.message


def test_secrets_come_from_the_environment_and_are_never_shown(tmp_path: Path) -> None:
    options = 'storage = { region = "eu-1" }\nstorage_env = { access_key_id = "ID", secret_access_key = "SECRET" }'
    (tmp_path / "team.toml").write_text(f'uri = "s3://b/t/"\n{options}\n{REPOSITORY}')
    config = read_config(tmp_path / "team.toml", {"ID": "key-id", "SECRET": "hidden-value"})
    assert isinstance(config, TeamConfig)
    assert dict(config.storage.options) == {
        "aws_region": "eu-1",
        "aws_access_key_id": "key-id",
        "aws_secret_access_key": "hidden-value",
        "aws_endpoint": "https://s3.eu-1.amazonaws.com",
    }
    assert "hidden-value" not in repr(config)
    assert "hidden-value" not in storage_problem(OSError("odd answer: hidden-value"), config.storage)


@pytest.mark.parametrize(
    "address",
    [
        "https://user:token@host/acme/shop.git/",
        "ssh://git@host:2222/acme/shop.git",
        "git@host:acme/shop.git",
    ],
)
def test_addresses_of_one_repository_are_equal(address: str) -> None:
    assert public_address(address) == "host/acme/shop"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("HTTP status 403 Forbidden, retry_timeout: 10s", "access is denied"),
        ("error sending request: operation timed out", "does not respond"),
        ("Table 'chunks' was not found", "there is no index"),
        ("error sending request: connection refused", "cannot be reached"),
    ],
)
def test_storage_errors_are_one_sentence(error: str, reason: str) -> None:
    assert reason in storage_problem(OSError(error), Storage("s3://b/t"))


def test_commands_without_the_extra_say_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("promptls.extensions.team.command.PACKAGES", ("no_such_package",))
    for command in ("build", "update", "status"):
        assert main(["team", command, "team.toml"]) == 1
        assert capsys.readouterr().err == f"promptls: {missing_packages()}\n"
