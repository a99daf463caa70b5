"""The command line: output, exit status, and one clear sentence for every error."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import alive, deliver_interrupts, family, until


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


def test_prompt_is_printed_with_a_summary_on_stderr(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("prompt", "--root", str(shop), "how is a discount applied? @shop/money.py @nothing.py")
    assert done.returncode == 0
    assert "def apply_discount(" in done.stdout
    assert done.stdout.rstrip().endswith("@nothing.py")
    assert "tokens" in done.stderr
    assert "shop/money.py:1-12" in done.stderr
    assert "@nothing.py: unresolved." in done.stderr


def test_json_option_prints_the_protocol_result(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("prompt", "--json", "--budget", "700", "--counter", "chars4", "-", cwd=shop, stdin="@cart.py how?\n")
    result = json.loads(done.stdout)
    assert len(result["prompt"]) <= 4 * 700
    assert result["mentions"][0]["status"] in ("included", "partial")
    hits = json.loads(run("search", "--json", "discount", cwd=shop).stdout)["hits"]
    assert hits[0]["symbol"] == "apply_discount"


def test_list_and_read_print_text(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    assert "function apply_discount" in run("list", "discount", "--name", "apply_discount", cwd=shop).stdout
    found = run("read", "shop/money.py:1-3", "#apply_discount", cwd=shop)
    assert found.returncode == 0
    assert "\tdef apply_discount" in found.stdout
    assert "calls total (:16), times (money.py:10)" in found.stdout
    assert run("read", "nothing.py", cwd=shop).returncode == 1


def test_explain_option_prints_model_hints_and_sections(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("prompt", "--explain", "--budget", "400", "how is a discount applied? @cart.py", cwd=shop)
    assert done.returncode == 0
    assert re.search(r"^question type: \S+", done.stderr, re.M)
    assert re.search(r"^ +\d+  question$", done.stderr, re.M)
    assert re.search(r"^recommended temperature: 0\.\d", done.stderr, re.M)
    assert "recommended maximum of output tokens: 16,384" in done.stderr
    assert "variant: baseline" in done.stderr
    assert "recommended temperature" not in run("prompt", "x", cwd=shop).stderr


def test_verify_checks_the_citations_of_an_answer(run, shop: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    question = "how is a discount applied? @shop/cart.py"
    prompt = tmp_path / "prompt.json"
    prompt.write_text(run("prompt", "--json", "--variant", "citation", question, cwd=shop).stdout)
    answer = tmp_path / "answer.md"
    answer.write_text("The discount is taken off the total [P1].\nIt is rounded 😀 [P99] in shop/cart.py:500.\n")
    done = run("verify", str(answer), str(prompt), cwd=shop)
    assert done.returncode == 1
    assert "line 2: [P99]: unknown: the prompt has no item P99" in done.stdout
    assert "line 2: shop/cart.py:500: no such lines: " in done.stdout
    assert "3 citations, 2 invalid" in done.stdout
    result = json.loads(run("verify", "--json", str(answer), str(prompt), cwd=shop).stdout)
    assert [c["status"] for c in result["citations"]] == ["ok", "unknown", "no such lines"]
    valid = run("verify", "-", str(prompt), cwd=shop, stdin="The discount is taken off the total [P1].\n")
    assert valid.returncode == 0
    assert "1 citation, 0 invalid" in valid.stdout


def test_search_index_and_status(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    before = run("status", cwd=shop)
    assert "5 files, 0 up to date, 5 to be indexed" in before.stdout
    assert "5 files" in run("index", cwd=shop).stdout
    assert "5 up to date, 0 to be indexed" in run("status", cwd=shop).stdout
    assert "apply_discount" in run("search", "discount", "--limit", "3", cwd=shop).stdout.split("\n")[0]
    assert run("index", "--full", cwd=shop).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prompt", "--root", "/not/there", "x"), "the workspace '/not/there' does not exist."),
        (("search", "--root", "file.txt", "x"), "the workspace 'file.txt' is not a folder."),
        (("prompt", "  "), "message: must not be blank."),
        (("verify", "missing.md", "missing.json"), "cannot read 'missing.md'"),
        (("prompt", "--variant", "loose", "x"), "anti_prior, baseline, citation, strict"),
        (("prompt", "--budget", "0", "x"), "must be an integer from 1 to 100,000,000."),
        (("prompt", "--budget", "many", "x"), "invalid int value"),
        (("search", "--limit", "0", "x"), "between 1 and 1000"),
        (("fly",), "invalid choice"),
        ((), "required"),
    ],
)
def test_usage_errors_are_one_sentence_with_exit_status_2(
    run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir(exist_ok=True)
    done = run(*arguments, cwd=tmp_path if "file.txt" in arguments else tmp_path / "empty")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["recipes", "recipes --json", "search discount"])
def test_unwritable_output_is_one_sentence(tmp_path: Path, shop: Path, command: str) -> None:
    done = run_in_shell(f"{sys.executable} -m promptls {command} > /dev/full", tmp_path, shop)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line


def test_closed_pipe_is_not_a_failure(tmp_path: Path, shop: Path) -> None:
    line = f"{{ {sys.executable} -m promptls recipes; echo $? >&2; }} | true"
    assert run_in_shell(line, tmp_path, shop).stderr == "0\n"


@pytest.mark.skipif(os.name == "nt", reason="descriptors are closed by a POSIX shell")
@pytest.mark.parametrize(
    ("command", "closed", "status", "sentence"),
    [
        ("prompt x", "<&-", 0, ""),
        ("prompt -", "<&-", 2, "message: must not be blank."),
        ("prompt x", "<&- >&- 2>&-", 0, ""),
        ("serve", "</dev/null", 1, "The connection ended without the request shutdown. The server exits."),
        ("mcp", "</dev/null", 0, ""),
    ],
)
def test_closed_streams_are_one_sentence(
    tmp_path: Path, shop: Path, command: str, closed: str, status: int, sentence: str
) -> None:
    done = run_in_shell(f"{sys.executable} -m promptls {command} {closed}", tmp_path, shop)
    assert done.returncode == status
    own = [line for line in done.stderr.splitlines() if line.startswith("promptls: ")]
    assert own == ([f"promptls: {sentence}"] if sentence else [])
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("command", ["prompt x", "index", "serve", "mcp"])
def test_signal_stops_all_processes_with_one_sentence(tmp_path: Path, shop: Path, command: str) -> None:
    for file in range(500):  # so that the commands are still running
        (shop / f"part_{file}.py").write_text(f"def part_{file}():\n    return {file}\n" * 5)
    with start(tmp_path, shop, *command.split()) as process:
        until(lambda: len(family(process.pid)) > 1, "a worker to start")
        workers = family(process.pid)[1:]
        os.kill(process.pid, signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM
    assert (stdout, stderr) == (b"", b"promptls: terminated by SIGTERM.\n")
    until(lambda: not any(map(alive, workers)), "the workers to end")


def start(tmp_path: Path, root: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a command in a workspace and a session of its own, with the default actions of signals."""
    return subprocess.Popen(
        [sys.executable, "-m", "promptls", *arguments],
        cwd=root,
        env={**os.environ, "HOME": str(tmp_path), "PROMPTLS_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=deliver_interrupts,
    )


def run_in_shell(line: str, tmp_path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(tmp_path), "PROMPTLS_CACHE": str(tmp_path / "cache")}
    return subprocess.run(
        ["sh", "-c", line], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False
    )


def test_doctor_reports_problems(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    healthy = run("doctor")
    assert healthy.returncode == 0, healthy.stdout
    assert "BAD" not in healthy.stdout
    assert "embedding model bundled: 512 dimensions" in healthy.stdout
    config = tmp_path / "home" / ".config" / "promptls"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[embedding]\nmodel = "/no/model"\n[index]\nworkers = "x"\n')
    broken = run("doctor", "--json", XDG_CONFIG_HOME=str(config.parent))
    assert broken.returncode == 1
    failed = " ".join(f["message"] for f in json.loads(broken.stdout)["findings"] if not f["ok"])
    assert "index.workers" in failed
    assert "/no/model" in failed


def test_package_that_cannot_be_imported_is_one_sentence(run, shop: Path, broken: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("search", "discount", cwd=shop, PYTHONPATH=str(broken))
    assert done.returncode == 1
    assert "libsim.so" in done.stderr
    assert "promptls doctor" in done.stderr
    assert "Traceback" not in done.stderr
    doctor = run("doctor", PYTHONPATH=str(broken))
    assert doctor.returncode == 1
    assert [line.split(" ")[2] for line in doctor.stdout.split("\n") if line.startswith("BAD")] == ["simsimd"]
    assert re.search(r"pip install (?:--python \S+ )?--force-reinstall simsimd==", doctor.stdout)


@pytest.mark.parametrize("name", ["numpy", "msgspec", "logging", "tree_sitter"])
def test_packages_of_pythonpath_and_of_the_current_folder_are_not_imported(  # type: ignore[no-untyped-def]
    run, shop: Path, tmp_path: Path, name: str
) -> None:
    for folder in (tmp_path / "other-python", shop):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise ImportError('{name} of another Python')\n")
    done = run("search", "discount", cwd=shop, PYTHONPATH=str(tmp_path / "other-python"))
    assert done.returncode == 0, done.stderr
    assert "apply_discount" in done.stdout


def test_prompt_is_the_same_after_a_restart(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    first, second = (run("prompt", "how is @#apply_discount rounded?", cwd=shop).stdout for _ in range(2))
    assert "\nBoundary: " in first
    assert first == second


def test_workspace_is_not_modified(run, shop: Path) -> None:  # type: ignore[no-untyped-def]
    before = sorted(p.relative_to(shop) for p in shop.rglob("*") if ".git/" not in p.as_posix())
    run("prompt", "discount", cwd=shop)
    assert sorted(p.relative_to(shop) for p in shop.rglob("*") if ".git/" not in p.as_posix()) == before


def test_ignore_files_of_other_tools_apply_and_are_listed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    root = tmp_path / "w"
    (root / "kept").mkdir(parents=True)
    (root / "kept/a.py").write_text("def open_door():\n    return 1\n")
    (root / "b.py").write_text("def close_door():\n    return 1\n")
    (root / ".cursorignore").write_text("kept/\n")
    found = run("search", "door", cwd=root).stdout
    assert "b.py" in found
    assert "kept" not in found
    for command in ("status", "index"):
        assert "  ignore files: .gitignore, .cursorignore\n" in run(command, cwd=root).stdout


HOSTILE_NAME = "a\x1b]0;title\x07\x1b[31m<img src=x>"
HOSTILE_MODULE = '''def open_door():
    """![x](https://evil.example/x.png) <img src=x> and `![code](y) <b>`, ` ![z](u) `` <i>."""
    return 1
'''


@pytest.mark.skipif(os.name != "posix", reason="names that only POSIX has")
@pytest.mark.parametrize(
    "command",
    ["search open_door", "prompt open_door", "list open_door", "explain open_door", "graph open_door", "status"],
)
def test_text_of_the_workspace_is_text_on_a_terminal_and_in_markdown(  # type: ignore[no-untyped-def]
    run, tmp_path: Path, command: str
) -> None:
    root = tmp_path / "w"
    (root / HOSTILE_NAME).mkdir(parents=True)
    (root / HOSTILE_NAME / "m.py").write_text(HOSTILE_MODULE)
    done = run(*command.split(), cwd=root)
    assert done.returncode == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr)
    if command.startswith(("explain", "graph")):
        without_code = done.stdout.replace("`![code](y) <b>`", "")
        assert not re.search(r"(?<!\\)<[a-z]|!\[", without_code)
        assert "`![code](y) <b>`" in done.stdout
