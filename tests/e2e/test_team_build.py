"""`promptls team build` and `update`: real Ray with two workers, a shared folder and an S3 server on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from processes import command_of, family
from promptls.extensions.team import write_index
from promptls.extensions.team.reader_messages import (
    ChunkHit,
    FileContentResult,
    Hits,
    ListFiles,
    OpenIndex,
    ReadFile,
    SearchIndex,
)
from promptls.extensions.team.reader_process import Reader
from promptls.extensions.team.table import TeamError
from promptls.extensions.team.team_config import TeamConfig, read_config
from promptls.extensions.team.write_index import build, update
from promptls.index import tokenize
from teamkit import (
    BUCKET,
    MAIL,
    S3_VARIABLES,
    SHOP,
    commit_tree,
    git,
    require_team_packages,
    s3_options,
    s3_server,
    write_config,
)
from trees import plant

require_team_packages()
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray, boto3 and werkzeug


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error", _node_ip_address="127.0.0.1"
    )
    yield
    ray.shutdown()


@pytest.fixture
def repositories(tmp_path: Path) -> dict[str, Path]:
    commit_tree(tmp_path / "src" / "shop", SHOP)
    commit_tree(tmp_path / "src" / "mail", MAIL)
    return {"acme/shop": tmp_path / "src" / "shop", "acme/mail": tmp_path / "src" / "mail"}


@pytest.fixture
def config(tmp_path: Path, repositories: dict[str, Path]) -> TeamConfig:
    return read(write_config(tmp_path / "team.toml", f"{tmp_path}/index", repositories))


def read(file: Path) -> TeamConfig:
    config = read_config(file, {**os.environ, **S3_VARIABLES})
    assert isinstance(config, TeamConfig), config
    return config


def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def opened(config: TeamConfig) -> Reader:
    reader = Reader()
    reader.handle(OpenIndex(config.storage.uri, dict(config.storage.options)))
    return reader


def search(reader: Reader, question: str) -> list[ChunkHit]:
    found = reader.handle(SearchIndex(b"", tuple(tokenize(question)), 10))
    assert isinstance(found, Hits), found
    return sorted(found.hits, key=lambda hit: -hit.keyword)


def rows(config: TeamConfig) -> list[tuple[str, str, str, int]]:
    from promptls.extensions.team.table import open_table

    table = open_table(config.storage).to_table(columns=["row", "repo", "path", "start"]).to_pylist()
    return sorted((r["row"], r["repo"], r["path"], r["start"] or 0) for r in table)


def test_build_is_searchable_and_update_indexes_only_changed_repositories(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig
) -> None:
    report = build(config, cache(tmp_path))
    assert not report.problems and {state.name for state in report.repositories} == set(repositories)
    reader = opened(config)
    assert search(reader, "value of a voucher")[0].symbol == "Cart.apply_voucher"
    assert search(reader, "undeliverable address")[0].path == "mail/bounce.go"

    nothing = update(config, cache(tmp_path))
    assert (nothing.unchanged, nothing.embedded, nothing.version) == (2, 0, report.version)

    git(repositories["acme/mail"], "rm", "--quiet", "mail/bounce.go")
    commit_tree(
        repositories["acme/mail"],
        "-- mail/send.go --\npackage mail\n\n// Deliver sends a parcel.\nfunc Deliver(p Parcel) {\n\tcarrier.Send(p)\n}\n",
    )
    changed = update(config, cache(tmp_path))
    assert [state.name for state in changed.repositories] == ["acme/mail"]
    assert (changed.unchanged, changed.embedded) == (1, 1)
    assert search(reader, "undeliverable address"), "the reader stays on its version"
    reader.handle(OpenIndex(config.storage.uri, {}))
    assert not search(reader, "undeliverable")
    assert search(reader, "sends a parcel")[0].path == "mail/send.go"
    assert search(reader, "value of a voucher")[0].symbol == "Cart.apply_voucher"


def test_only_unseen_chunks_are_embedded(tmp_path: Path, repositories: dict[str, Path], config: TeamConfig) -> None:
    build(config, cache(tmp_path))
    shop = repositories["acme/shop"]
    git(shop, "mv", "shop/tax.py", "shop/taxes.py")
    commit_tree(
        shop,
        "-- shop/refund.py --\ndef refund(order):\n    'Return the money of a canceled order.'\n    return pay(order)\n",
    )
    report = update(config, cache(tmp_path))
    assert report.embedded == 1


def test_repository_that_is_no_longer_configured_is_removed(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig
) -> None:
    build(config, cache(tmp_path))
    del repositories["acme/mail"]
    smaller = read(write_config(tmp_path / "smaller.toml", f"{tmp_path}/index", repositories))
    assert update(smaller, cache(tmp_path)).removed == ("acme/mail",)
    assert {repo for _, repo, _, _ in rows(smaller)} == {"acme/shop"}


def test_secrets_and_ignored_files_are_not_in_the_index(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig
) -> None:
    commit_tree(
        repositories["acme/shop"], "-- build/out.py --\ngenerated_everything = 1\n-- .promptlsignore --\nbuild/\n"
    )
    build(config, cache(tmp_path))
    reader = opened(config)
    content = reader.handle(ReadFile("acme/shop", "shop/client.py"))
    assert isinstance(content, FileContentResult)
    assert "redacted: " in content.text and "ghp_0123456789" not in content.text
    assert {".env", "build/out.py"}.isdisjoint(reader.handle(ListFiles("acme/shop")).names)  # type: ignore[union-attr]
    assert not search(reader, "ghp_0123456789abcdefghijABCDEFGHIJ012345") and not search(reader, "hunter2hunter2")


def test_build_on_s3(tmp_path: Path, repositories: dict[str, Path]) -> None:
    with s3_server() as port:
        config = read(write_config(tmp_path / "team.toml", f"s3://{BUCKET}/team", repositories, s3_options(port)))
        assert not build(config, cache(tmp_path)).problems
        commit_tree(
            repositories["acme/shop"], "-- shop/gift.py --\ndef wrap_gift(article):\n    return Ribbon(article)\n"
        )
        assert [state.name for state in update(config, cache(tmp_path)).repositories] == ["acme/shop"]
        assert search(opened(config), "wrap gift ribbon")[0].symbol == "wrap_gift"


def test_killed_worker_is_replaced(tmp_path: Path, repositories: dict[str, Path]) -> None:
    for n in range(4):
        commit_tree(tmp_path / "src" / f"r{n}", MAIL)
        repositories[f"r{n}"] = tmp_path / "src" / f"r{n}"
    config = read(write_config(tmp_path / "team.toml", f"{tmp_path}/index", repositories))
    killed: list[int] = []

    def kill_one(done: int, total: int, name: str) -> None:
        if not killed:
            killed.append(worker_pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    report = build(config, cache(tmp_path), kill_one)
    assert killed and not report.problems
    assert len(rows(config)) == len(set(rows(config)))
    assert {repo for _, repo, _, _ in rows(config)} == set(repositories)


def worker_pids() -> list[int]:
    """Return the processes of this cluster that index repositories."""
    return [pid for pid in family(os.getpid()) if command_of(pid).startswith("ray::index_repository")]


def ray_address() -> str:
    """Return the address of the cluster of these tests."""
    import ray

    return str(ray.get_runtime_context().gcs_address)


KILLED_BEFORE_COMMIT = """
import os, signal, sys
from pathlib import Path
from promptls.extensions.team import write_index
from promptls.extensions.team.team_config import read_config
write_index.commit_build = write_index.commit_update = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
getattr(write_index, sys.argv[1])(read_config(Path(sys.argv[2])), sys.argv[3])
"""


def test_driver_killed_before_the_commit_leaves_the_published_version(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig
) -> None:
    build(config, cache(tmp_path))
    before = rows(config)
    commit_tree(repositories["acme/shop"], "-- shop/gift.py --\ndef wrap_gift(article):\n    return Ribbon(article)\n")
    environment = {**os.environ, "RAY_ADDRESS": ray_address()}
    for command in ("update", "build"):
        arguments = [sys.executable, "-c", KILLED_BEFORE_COMMIT, command, str(tmp_path / "team.toml"), cache(tmp_path)]
        killed = subprocess.run(arguments, capture_output=True, check=False, timeout=120, env=environment)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert rows(config) == before
    assert [state.name for state in update(config, cache(tmp_path)).repositories] == ["acme/shop"]
    assert search(opened(config), "wrap gift ribbon")


def test_modules_in_the_current_folder_are_not_imported(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig
) -> None:
    folder = tmp_path / "checkout"
    modules = ("numpy", "lance", "pandas", "promptls", "secrets")
    plant(folder, "\n".join(f"{name}/__init__.py = raise SystemExit('imported')" for name in modules))
    command = [Path(sys.executable).with_name("promptls"), "team", "build", tmp_path / "team.toml"]
    environment = {**os.environ, "RAY_ADDRESS": ray_address(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=folder)
    assert "2 indexed" in built.stdout, built.stderr
    assert search(opened(config), "value of a voucher")


def test_second_of_two_updates_at_once_fails(
    tmp_path: Path, repositories: dict[str, Path], config: TeamConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(config, cache(tmp_path))
    commit_tree(repositories["acme/shop"], "-- shop/gift.py --\ndef wrap_gift(article):\n    return Ribbon(article)\n")
    outer = write_index.commit_update

    def after_another(*arguments: Any) -> Any:
        monkeypatch.setattr(write_index, "commit_update", outer)
        update(config, cache(tmp_path))
        return outer(*arguments)

    monkeypatch.setattr(write_index, "commit_update", after_another)
    with pytest.raises(TeamError, match="Another command has changed the team index"):
        update(config, cache(tmp_path))
    assert len(rows(config)) == len(set(rows(config)))
    assert "shop/gift.py" in {path for _, _, path, _ in rows(config)}


def test_readers_never_see_a_mix_of_versions(tmp_path: Path, repositories: dict[str, Path], config: TeamConfig) -> None:
    numbered = "-- shop/{0}.py --\ndef constant_of_release():\n    return 'release{1}'\n"
    both = "".join(numbered.format(name, 0) for name in ("first", "second"))
    commit_tree(repositories["acme/shop"], both)
    build(config, cache(tmp_path))
    reader, states = opened(config), []
    with ThreadPoolExecutor(1) as thread:
        commit_tree(repositories["acme/shop"], both.replace("release0", "release1"))
        updating = thread.submit(update, config, cache(tmp_path))
        while True:
            finished = updating.done()
            reader.handle(OpenIndex(config.storage.uri, {}))
            texts = [hit.text for hit in search(reader, "constant of release") if "release" in hit.text]
            states.append({text.rpartition("release")[2][:1] for text in texts})
            if finished:
                break
    assert states[0] == {"0"} and states[-1] == {"1"} and all(len(state) == 1 for state in states)
