"""The command line as a user meets it: output, exit codes, one clear sentence for what is wrong."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptls.doctor import PACKAGES


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments: str, cwd: Path | None = None, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "promptls", *arguments],
            cwd=cwd or tmp_path,
            env={**os.environ, "HOME": str(home), "PROMPTLS_CACHE": str(tmp_path / "cache"), **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_prompt_prints_the_prompt_and_says_what_went_in(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("prompt", "--root", str(shop), "how is a discount applied? @shop/money.py @nothing.py")
    assert done.returncode == 0
    assert "def apply_discount(" in done.stdout
    assert done.stdout.rstrip().endswith("@nothing.py")
    assert "tokens" in done.stderr
    assert "shop/money.py:1-12" in done.stderr
    assert "@nothing.py: unresolved." in done.stderr


def test_json_is_the_protocols_result(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("prompt", "--json", "--budget", "700", "--counter", "chars4", "-", cwd=shop, stdin="@cart.py how?\n")
    result = json.loads(done.stdout)
    assert len(result["prompt"]) <= 4 * 700
    assert result["mentions"][0]["status"] in ("included", "partial")
    hits = json.loads(run("search", "--json", "discount", cwd=shop).stdout)["hits"]
    assert hits[0]["symbol"] == "apply_discount"


def test_search_index_and_status(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    before = run("status", cwd=shop)
    assert "5 files, 0 indexed and unchanged, 5 to be looked at" in before.stdout
    assert "5 files" in run("index", cwd=shop).stdout
    assert "5 indexed and unchanged, 0 to be looked at" in run("status", cwd=shop).stdout
    assert "apply_discount" in run("search", "discount", "--limit", "3", cwd=shop).stdout.split("\n")[0]
    assert run("index", "--full", cwd=shop).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prompt", "--root", "/not/there", "x"), "the workspace '/not/there' does not exist."),
        (("search", "--root", "file.txt", "x"), "the workspace 'file.txt' is not a folder."),
        (("prompt", "  "), "message: it is blank"),
        (("prompt", "--variant", "loose", "x"), "anti_prior, baseline, citation, strict"),
        (("prompt", "--budget", "0", "x"), "must be an integer from 1 to 100,000,000."),
        (("prompt", "--budget", "9" * 310, "x"), "must be an integer from 1 to 100,000,000."),
        (("prompt", "--budget", "many", "x"), "invalid int value"),
        (("search", "--limit", "0", "x"), "between 1 and 1000"),
        (("serve", "--tcp", "0.0.0.0:2087"), "loopback"),
        (("serve", "--tcp", "127.0.0.1:99999"), "a loopback address and a port"),
        (("serve", "--tcp", "127.0.0.1:²"), "a loopback address and a port"),
        (("memory", "add", "hi", "--expires", "²"), "expires"),
        (("fly",), "invalid choice"),
        ((), "required"),
    ],
)
def test_what_cannot_be_served_is_one_sentence_and_code_2(
    run, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir(exist_ok=True)
    done = run(*arguments, cwd=tmp_path if "file.txt" in arguments else tmp_path / "empty")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_any_character_can_be_printed_anywhere(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    (shop / "shop/greek.py").write_text("def beta():\n    return 'β → …'\n")
    said = run("prompt", "@greek.py", cwd=shop, PYTHONIOENCODING="ascii")
    assert said.returncode == 0
    assert "def beta()" in said.stdout
    searched = run("search", "--json", "beta", cwd=shop, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert searched.returncode == 0


def test_an_index_that_cannot_be_stored_is_told(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("index", cwd=shop, PROMPTLS_CACHE="/proc/nowhere")
    assert done.returncode == 1
    assert "the index lives in memory only" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["recipes", "recipes --json", "search discount"])
def test_output_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, shop: Path, command: str, unbuffered: str
) -> None:
    done = in_shell(f"{sys.executable} -m promptls {command} > /dev/full", tmp_path, shop, unbuffered)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_heard_enough_is_no_failure(tmp_path: Path, shop: Path, unbuffered: str) -> None:
    line = f"{{ {sys.executable} -m promptls recipes; echo $? >&2; }} | true"
    assert in_shell(line, tmp_path, shop, unbuffered).stderr == "0\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_was_said_before_something_else_failed_is_kept(tmp_path: Path, shop: Path, unbuffered: str) -> None:
    code = "from promptls.__main__ import _say_no_more; print('said'); _say_no_more()"
    assert in_shell(f'{sys.executable} -c "{code}"', tmp_path, shop, unbuffered).stdout == "said\n"


def in_shell(line: str, tmp_path: Path, cwd: Path, unbuffered: str) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(tmp_path), "PROMPTLS_CACHE": str(tmp_path / "cache"), "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(
        ["sh", "-c", line], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def test_doctor_is_content_and_names_what_is_wrong(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    well = run("doctor")
    assert well.returncode == 0, well.stdout
    assert "BAD" not in well.stdout
    assert "embedding model bundled: 512 dimensions" in well.stdout
    config = tmp_path / "home" / ".config" / "promptls"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[embedding]\nmodel = "/no/model"\n[index]\nworkers = "x"\n')
    ill = run("doctor", XDG_CONFIG_HOME=str(tmp_path / "home" / ".config"))
    assert ill.returncode == 1
    assert "index.workers" in ill.stdout
    assert "/no/model" in ill.stdout
    findings = json.loads(run("doctor", "--json", XDG_CONFIG_HOME=str(tmp_path / "home" / ".config")).stdout)[
        "findings"
    ]
    wrong = " ".join(f["what"] for f in findings if not f["ok"])
    assert "index.workers" in wrong
    assert "/no/model" in wrong


def test_a_package_that_cannot_be_imported_is_one_sentence(run, shop: Path, broken: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("search", "discount", cwd=shop, PYTHONPATH=str(broken))
    assert done.returncode == 1
    assert "libsim.so" in done.stderr
    assert "promptls doctor" in done.stderr
    assert "Traceback" not in done.stderr
    told = run("doctor", PYTHONPATH=str(broken))
    assert told.returncode == 1
    assert [line.split(" ")[2] for line in told.stdout.split("\n") if line.startswith("BAD")] == ["simsimd"]
    assert "pip install --force-reinstall simsimd==" in told.stdout


def test_doctor_looks_at_every_package_that_is_depended_on() -> None:
    required = [one for one in importlib.metadata.requires("promptls") or () if ";" not in one]
    assert sorted(re.split(r"[<>=!~]", one)[0] for one in required) == sorted(PACKAGES)


def test_nothing_is_written_into_the_workspace(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    before = sorted(p.relative_to(shop) for p in shop.rglob("*") if ".git/" not in p.as_posix())
    run("prompt", "discount", cwd=shop)
    assert sorted(p.relative_to(shop) for p in shop.rglob("*") if ".git/" not in p.as_posix()) == before
