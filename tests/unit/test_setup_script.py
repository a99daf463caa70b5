from __future__ import annotations

import ensurepip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from environment import pip_settings, uv_environment, uv_options

from processes import deliver_interrupts, until

pytestmark = pytest.mark.process

SCRIPTS = Path(__file__).parents[2] / "scripts"
TIMEOUT_S = 300  # many times the usual duration

BACKEND = """
import time, zipfile
from pathlib import Path

def build_editable(folder, config_settings=None, metadata_directory=None):
    with open("builds", "a") as file:
        file.write("build\\n")
    while Path("wait").exists():
        time.sleep(0.01)
    info = "sample-1.dist-info"
    with zipfile.ZipFile(Path(folder) / "sample-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("sample.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: sample\\nVersion: 1\\nProvides-Extra: dev\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return "sample-1-py3-none-any.whl"

build_wheel = build_editable
"""

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "sample"
version = "1"

[project.optional-dependencies]
dev = []
"""


@pytest.mark.parametrize(
    ("listing", "variables"),
    [
        ("", {}),
        ("global.index-url='https://mirror.test/simple'", {"UV_DEFAULT_INDEX": "https://mirror.test/simple"}),
        (
            "install.index-url='https://b.test'\nglobal.index-url='https://a.test'",
            {"UV_DEFAULT_INDEX": "https://b.test"},
        ),
        (":env:.index-url='https://c.test'\ninstall.index-url='b'", {"UV_DEFAULT_INDEX": "https://c.test"}),
        (
            "global.extra-index-url='\\nhttps://a.test\\nfile:///b'",
            {"UV_INDEX": "https://a.test file:///b", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ("global.find-links='/a /b'", {"UV_FIND_LINKS": "/a,/b"}),
        ("global.trusted-host='a.test b.test:81'", {"UV_INSECURE_HOST": "a.test b.test:81"}),
        ("global.cert='/etc/ca.pem'\nglobal.timeout='60'", {"SSL_CERT_FILE": "/etc/ca.pem", "UV_HTTP_TIMEOUT": "60"}),
        (
            "global.constraint='/c.txt'\nglobal.proxy='http://p.test:1'",
            {"UV_CONSTRAINT": "/c.txt", "ALL_PROXY": "http://p.test:1"},
        ),
        ("freeze.index-url='https://other.test'\nnot a setting\nglobal.index-url=broken", {}),
    ],
)
def test_uv_receives_settings_of_pip(listing: str, variables: dict[str, str]) -> None:
    assert uv_environment(pip_settings(listing), {}) == {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", **variables}


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_variables_of_uv_take_precedence(name: str) -> None:
    variables = uv_environment({"index-url": "https://pip.test"}, {name: "https://uv.test"})
    assert "UV_DEFAULT_INDEX" not in variables


@pytest.mark.parametrize(
    ("value", "options"), [("1", ["--no-index"]), ("true", ["--no-index"]), ("0", []), ("false", [])]
)
def test_no_index_becomes_an_option(value: str, options: list[str]) -> None:
    assert uv_options(pip_settings(f"global.no-index='{value}'")) == options


class Checkout:
    """A small project with `scripts/setup`, and an environment without network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.programs = folder / "bin"
        home = folder / "home"
        for path in (self.folder / "scripts", self.programs, home):
            path.mkdir(parents=True)
        for name in ("setup", "environment.py"):
            shutil.copy(SCRIPTS / name, self.folder / "scripts" / name)
        (self.folder / "backend.py").write_text(BACKEND, "utf-8")
        (self.folder / "pyproject.toml").write_text(PROJECT, "utf-8")
        (self.programs / "uv").symlink_to(Path(sys.executable).parent / "uv")
        self.environment = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "PYTHON": sys._base_executable,  # type: ignore[attr-defined]
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(Path(ensurepip.__file__).parent / "_bundled"),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = ["sh", str(self.folder / "scripts" / "setup"), *arguments]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            preexec_fn=deliver_interrupts if os.name != "nt" else None,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert out == ""
        return process.returncode, err

    def builds(self) -> int:
        path = self.folder / "builds"
        return len(path.read_text("utf-8").splitlines()) if path.exists() else 0

    def wait_for_build(self) -> None:
        until(lambda: self.builds() > 0, "the build did not start", TIMEOUT_S)

    def imports(self, module: str) -> bool:
        python = self.folder / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", f"import {module}"], check=False).returncode == 0


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    if not (Path(sys.executable).parent / "uv").exists() or not list(
        (Path(ensurepip.__file__).parent / "_bundled").glob("pip*")
    ):
        pytest.skip("needs uv in .venv and the pip of ensurepip")
    return Checkout(tmp_path)


def test_setup_installs_once_and_is_silent_afterwards(checkout: Checkout) -> None:
    status, err = checkout.run()
    assert status == 0, err
    assert checkout.imports("sample") and checkout.imports("pip")
    assert err.startswith("Creating .venv") and "Installed" in err
    assert checkout.run() == (0, "")
    assert checkout.builds() == 1


def test_development_environment_serves_for_running(checkout: Checkout) -> None:
    assert checkout.run("dev")[0] == 0
    assert checkout.run() == (0, "")


def test_changed_dependencies_update_the_environment(checkout: Checkout) -> None:
    checkout.run()
    later = time.time() + 1
    os.utime(checkout.folder / "pyproject.toml", (later, later))
    status, err = checkout.run()
    assert status == 0 and err.startswith("Updating .venv")


def test_concurrent_runs_install_once(checkout: Checkout) -> None:
    (checkout.folder / "wait").touch()
    first = checkout.start()
    checkout.wait_for_build()
    second = checkout.start()
    assert second.stderr is not None and "Waiting" in second.stderr.readline()
    (checkout.folder / "wait").unlink()
    for process in (first, second):
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
    assert checkout.builds() == 1 and checkout.imports("sample")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_setup_can_be_repeated(checkout: Checkout, number: signal.Signals) -> None:
    (checkout.folder / "wait").touch()
    with checkout.start() as process:
        checkout.wait_for_build()
        process.send_signal(number)
        process.wait(timeout=TIMEOUT_S)
        assert process.returncode != 0
        second = checkout.start()  # waits for commands of the first run that have not ended
        (checkout.folder / "wait").unlink()
        _, err = second.communicate(timeout=TIMEOUT_S)
    assert second.returncode == 0, err
    assert checkout.imports("sample")


def test_pip_installs_if_uv_fails(checkout: Checkout) -> None:
    uv = checkout.programs / "uv"
    uv.unlink()
    uv.write_text("#!/bin/sh\necho certificate rejected >&2\nexit 2\n", "utf-8")
    uv.chmod(0o755)
    status, err = checkout.run()
    assert status == 0, err
    assert "certificate rejected" in err and "with pip" in err
    assert checkout.imports("sample")


def test_failed_installation_reports_the_reason_and_can_be_repeated(checkout: Checkout) -> None:
    checkout.run()
    backend = checkout.folder / "backend.py"
    backend.write_text(BACKEND.replace("info = ", "raise OSError('disk is full')\n    info = "), "utf-8")
    later = time.time() + 1
    os.utime(checkout.folder / "pyproject.toml", (later, later))
    status, err = checkout.run()
    assert status == 2 and "disk is full" in err
    backend.write_text(BACKEND, "utf-8")
    status, err = checkout.run()
    assert status == 0 and err.startswith("Updating .venv")


def test_unsupported_python_is_reported(checkout: Checkout) -> None:
    checkout.environment["PYTHON"] = "/nonexistent/python"
    status, err = checkout.run()
    assert status == 2 and "needs Python 3.10 to 3.14" in err


def test_uv_finds_a_python_that_is_not_on_the_path(checkout: Checkout) -> None:
    for name in ("sh", "dirname"):
        (checkout.programs / name).symlink_to(shutil.which(name) or name)
    uv = checkout.programs / "uv"
    real = uv.resolve()
    uv.unlink()
    python = checkout.environment.pop("PYTHON")
    uv.write_text(f'#!/bin/sh\n[ "$1 $2" = "python find" ] || exec {real} "$@"\necho {python}\n', "utf-8")
    uv.chmod(0o755)
    checkout.environment["PATH"] = str(checkout.programs)
    status, err = checkout.run()
    assert status == 0, err
    assert checkout.imports("sample")
