"""Fixtures and workspaces shared by several test folders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lsp import Client
from tally import Tally, Tries
from trees import files_of

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # each of some thousand processes would compile all modules
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = f"{tempfile.gettempdir()}/promptls-bytecode"

collect_ignore = ["editors"]  # these run inside the editors

# CI uses the same Hypothesis examples in each run; elsewhere new examples are generated to find bugs.
# Neither measures time, because the machine may be busy.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


PROCESS_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}
"""Audit events of Python that are raised before a process starts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help="run the unit tests that start no process; a process start is a failure"
    )
    help_text = "factor for the number of attempts in tests/strength: 1 for every run, 10 for a release"
    parser.addoption("--effort", type=float, default=1.0, help=help_text)
    parser.addoption(
        "--table", type=Path, help="write a report of the attempts and failures of tests/strength to this page"
    )


def pytest_configure(config: pytest.Config) -> None:
    page = config.getoption("--table")
    if page is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(page, config.getoption("--effort")))
    if config.getoption("--fast"):
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            config.args = [str(config.rootpath / "tests" / "unit")]
        config.pluginmanager.register(ProcessGuard())


class ProcessGuard:
    """pytest plugin of `--fast`: deselects tests with the mark `process` and refuses process starts in the others."""

    def __init__(self) -> None:
        self._test = ""
        self._starts: list[str] = []
        sys.addaudithook(self._audit)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        slow = [item for item in items if item.get_closest_marker("process")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("process")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test = item.nodeid
        try:
            return (yield)
        finally:
            self._test = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        if self._starts:  # the code under test may have handled the exception
            report.outcome = "failed"
            report.longrepr = f"{self._starts[0]} in a test without the mark `process`"
            self._starts.clear()
        return report

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in PROCESS_STARTS and self._test:
            self._starts.append(f"{event}{arguments[:2]}")
            raise RuntimeError(f"{event} in a test without the mark `process`: {arguments[:2]}")


@pytest.fixture(scope="session")
def effort(request: pytest.FixtureRequest) -> float:
    """Factor for the number of attempts: `max(1, int(base * effort))`."""
    return float(request.config.getoption("--effort"))


@pytest.fixture
def tries(record_property: Callable[[str, object], None]) -> Iterator[Tries]:
    """Return a function that counts attempts for the report: `tries("kills")` or `tries("kills", count)`."""
    counted: Counter[str] = Counter()
    yield lambda what, count=1: counted.update({what: count})
    for what, count in counted.items():
        record_property(what, count)


SHOP = """
-- shop/cart.py --
\"\"\"A shopping cart.\"\"\"

from shop.money import Money


class Cart:
    \"\"\"What a customer is about to buy.\"\"\"

    def __init__(self) -> None:
        self.items: list[tuple[str, Money]] = []

    def add(self, name: str, price: Money) -> None:
        \"\"\"Put an article into the cart.\"\"\"
        self.items.append((name, price))

    def total(self) -> Money:
        \"\"\"Sum of all prices, before any discount.\"\"\"
        amount = Money(0)
        for _, price in self.items:
            amount = amount.plus(price)
        return amount


def apply_discount(cart: Cart, percent: int) -> Money:
    \"\"\"Price of the cart after a discount.\"\"\"
    return cart.total().times(100 - percent, 100)
-- shop/money.py --
class Money:
    \"\"\"An amount in cents.\"\"\"

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def plus(self, other: "Money") -> "Money":
        return Money(self.cents + other.cents)

    def times(self, numerator: int, denominator: int) -> "Money":
        \"\"\"Multiply by a fraction, rounding half up.\"\"\"
        return Money((self.cents * numerator + denominator // 2) // denominator)
-- web/session.js --
// Keeps the visitor signed in between two requests.
export function refreshSession(cookie, now) {
  if (cookie.expires < now) {
    return null;
  }
  return { ...cookie, expires: now + 3600 };
}
-- README.md --
# Shop

## Refunds

A refund is paid out within fourteen days to the card that was charged.
-- .gitignore --
build/
*.secret
-- build/generated.py --
def never_index_this(): pass
"""


def write_tree(root: Path, text: str) -> Path:
    """Write files from one string; a line "-- path --" starts a file."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files_of(text).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def git(root: Path, *arguments: str) -> str:
    """Run git with a fixed identity."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def make_shop(root: Path) -> Path:
    """Create a small git workspace in three languages, on the branch main."""
    write_tree(root, SHOP)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop-root")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Return a function that starts a server; all servers share one cache and are killed after the test."""
    started: list[Client] = []

    def run(*roots: Path, **options: object) -> Client:
        client = Client(tmp_path / "cache", env=options.pop("env", None))  # type: ignore[arg-type]
        started.append(client)
        client.initialize(*roots, **options)
        return client

    yield run
    for client in started:
        client.kill()


BREAKS_SIMSIMD = """
import os, sys

class Broken:
    def find_spec(self, name, path, target=None):
        if name == "simsimd" and os.path.exists(f"{os.path.dirname(__file__)}/simsimd-is-broken"):
            raise ImportError("libsim.so: cannot open shared object file")

sys.meta_path.insert(0, Broken())
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH that breaks the import of a required package."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BREAKS_SIMSIMD)
    (folder / "simsimd-is-broken").touch()
    return folder


class SharedServer:
    """A server shared by the tests of a module; each test adds and removes its own workspace folder.

    If the server exits, the next test gets a new one, so that only one test fails.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: Client | None = None

    def change_folders(self, added: list[Path], removed: list[Path]) -> Client:
        client = self._client
        if client is None or client.process.poll() is not None:
            self.close()
            client = self._client = Client(self._folder / "cache")
            client.initialize()
        client.folders_changed([(root, root.name) for root in added], [(root, root.name) for root in removed])
        return client

    def close(self) -> None:
        if self._client is not None:
            self._client.kill()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    host = SharedServer(tmp_path_factory.mktemp("host"))
    yield host
    host.close()


@pytest.fixture
def visit(host: SharedServer) -> Iterator[Callable[[Path], Client]]:
    """Return a function that adds a folder to the module's shared server until the end of the test."""
    opened: list[Path] = []

    def run(root: Path) -> Client:
        opened.append(root)
        return host.change_folders([root], [])

    yield run
    if opened:
        client = host.change_folders([], opened)
        client.close_all()
        assert client.wait_indexed()["roots"] == []
