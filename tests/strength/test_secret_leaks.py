"""Secret redaction: some 240 secrets in files, diffs, history, notes and the client context never reach a prompt.

Complete responses are checked, not only prompts.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import planted_secrets
from conftest import git, make_shop
from lsp import Client, Json
from promptls.redaction.secrets import redact
from tally import Tries
from traversalkit import response_text

ALL_SECTIONS = dict.fromkeys(("instructions", "architecture", "memory", "team", "rules", "retrieval"), True)
KINDS = list(planted_secrets.ISSUED_TOKENS)


class SecretWorkspace:
    """A workspace full of secrets; `secrets` maps each one to its location."""

    def __init__(self, root: Path) -> None:
        self.root = make_shop(root)
        self.secrets: dict[str, str] = {}
        git(root, "checkout", "-qb", "feature")
        for number, (name, (text, secret, _)) in enumerate(planted_secrets.planted_files().items()):
            self._write(name, text)
            self.secrets[secret] = name
            if number % 40 == 0:
                self._commit(f"Work on {name}\n\nThe old key was {self.new_secret('commit message')}, it is gone.")
        self._write_notes()
        self._commit(f"Rotate {self.new_secret('subject')}")
        self.code = [name for name, (_, _, kind) in planted_secrets.planted_files().items() if kind != "file"]
        for number, name in enumerate(self.code):  # each one is in a diff, as a changed or a context line
            file = root / name
            comment = "//" if file.suffix in (".js", ".go", ".rs", ".ts") else "#"
            if file.suffix not in (".json", ".xml", ".config", ".html", ".vue") and not name.startswith("keys/"):
                file.write_text(file.read_text() + f"{comment} touched {number}\n")
            if number % 3 == 0:
                git(root, "add", "--", name)

    def new_secret(self, location: str) -> str:
        """Return a new secret for a location."""
        kind = KINDS[len(self.secrets) % len(KINDS)]
        secret = planted_secrets.ISSUED_TOKENS[kind]()
        self.secrets[planted_secrets.secret_part(secret)] = f"{location} ({kind})"
        return secret

    def _write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def _commit(self, message: str) -> None:
        git(self.root, "add", "-Af")
        git(self.root, "commit", "-qm", message)

    def _write_notes(self) -> None:
        for name in (
            "AGENTS.md",
            "CLAUDE.md",
            ".cursorrules",
            ".github/copilot-instructions.md",
            ".promptls/rules/a.md",
        ):
            self._write(name, f"# Rules of the cart\n\nDeploy with {self.new_secret(name)}.\n\nAmounts are in cents.\n")
        recipe = f"---\ntitle: Ship\ndescription: Ship with {self.new_secret('recipe description')}.\n---\nShip it with {self.new_secret('recipe')}.\n"
        self._write(".promptls/recipes/ship.md", recipe)
        scripts = {
            "start": f"pay --key {self.new_secret('script')}",
            "test": f"curl -H 'X-Key: {self.new_secret('script')}' localhost",
        }
        about = {"name": "shop", "description": f"Shop with {self.new_secret('manifest')}", "scripts": scripts}
        self._write("package.json", json.dumps(about, indent=1))
        self._write("Makefile", f"run:\n\tpay {self.new_secret('makefile')}\n")
        self._write(
            "README.md",
            f"# Shop {self.new_secret('heading')}\n\nPay with {self.new_secret('readme')}.\n\n## Refunds {self.new_secret('title')}\n\nNo.\n",
        )
        for number, length in enumerate((60, 90, 110, 180)):  # headings and signatures that are truncated at the secret
            many = ", ".join(f"pay_{n}=1" for n in range(length // 9 + 8))
            text = f"# Pay\n\n## The password that pays {'so ' * (length // 3)}{self.new_secret('long heading')} and is kept\n\nYes.\n"
            self._write(f"docs/pay_{number}.md", text)
            self._write(
                f"shop/pay_{number}.py",
                f'def pay_{number}({many}, key="{self.new_secret("long head")}"):\n    return 1\n',
            )
        self._write("CODEOWNERS", f"* @ann # {self.new_secret('owners')}\n")
        entry = {"id": "a1", "category": "rule", "title": f"Cart {self.new_secret('memory title')}",
                 "content": f"The cart and its discount need {self.new_secret('workspace memory')}.", "tags": [self.new_secret("memory tag")[:40]],
                 "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}  # fmt: skip
        self.secrets.pop(entry["tags"][0], None)
        entry["tags"] = []
        self._write(".promptls/memory.json", json.dumps({"version": 1, "entries": [entry]}))

    def context(self) -> Json:
        """Return a client context with secrets in every text."""
        cart = (self.root / "shop/cart.py").as_uri()
        at = {"start": {"line": 10, "character": 0}, "end": {"line": 12, "character": 0}}
        diagnostic = {"range": at, "message": f"key {self.new_secret('diagnostic')} is wrong", "severity": 1,
                   "source": self.new_secret("source"), "code": self.new_secret("code")}  # fmt: skip
        return {
            "activeDocument": cart,
            "selection": {"uri": (self.root / self.code[3]).as_uri(), "range": {"start": at["start"] | {"line": 0}, "end": at["end"]}},
            "terminal": f"$ env\nPAY_TOKEN={self.new_secret('terminal')}\nOTHER_KEY={self.new_secret('terminal')}\n",
            "clipboard": f"paste {self.new_secret('clipboard')}\n" + self._new_private_key(),
            "diagnostics": [{"uri": cart, "diagnostics": [diagnostic]}],
            "quickfix": [{"uri": (self.root / self.code[5]).as_uri(), "range": at}],
            "history": [
                {"role": "user", "content": f"It said 401 with {self.new_secret('turn of the user')}."},
                {"role": "assistant", "content": f"Then use\n```\ncurl -H 'X: {self.new_secret('turn of the model')}'\n```"},
            ],
        }  # fmt: skip

    def _new_private_key(self) -> str:
        pem = planted_secrets.private_key("RSA PRIVATE KEY")
        self.secrets[pem.split("\n")[4]] = "clipboard (key)"
        return pem


@pytest.fixture(scope="module")
def secret_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, SecretWorkspace, Json]]:
    folder = tmp_path_factory.mktemp("leaky")
    workspace = SecretWorkspace(folder / "shop")
    client = Client(folder / "cache")
    client.initialize(workspace.root)
    add = {"action": "add", "scope": "user", "category": "knowledge", "title": "Discount of a cart"}
    client.request(
        "promptls/memory", {**add, "content": f"A discount of the cart needs {workspace.new_secret('user memory')}."}
    )
    unsaved = workspace.root / "shop/unsaved.py"
    client.open(unsaved, f"# {workspace.new_secret('unsaved text')}\nPAY = '{workspace.new_secret('unsaved text')}'\n")
    context = workspace.context()
    client.wait_indexed()
    yield client, workspace, context
    client.kill()


def leaks(workspace: SecretWorkspace, text: str) -> dict[str, str]:
    """Return the secrets in a text, complete or two thirds of them, with their locations."""
    return {
        secret: location
        for secret, location in workspace.secrets.items()
        if any(part in text for part in _parts(secret))
    }


def _parts(secret: str) -> tuple[str, ...]:
    third = len(secret) // 3
    return (secret[third:], secret[:-third]) if len(secret) > 20 else (secret,)


def test_secrets_are_detected_in_unredacted_text(secret_workspace: tuple[Client, SecretWorkspace, Json]) -> None:
    """Control for the tests below: secrets are found in text that is not redacted."""
    _, workspace, context = secret_workspace
    assert len(workspace.secrets) > 240
    text = response_text(context) + "".join(
        f.read_text() for f in sorted(workspace.root.rglob("*")) if f.is_file() and ".git/" not in str(f)
    )
    assert len(leaks(workspace, text)) > 220


def test_every_secret_format_is_redacted() -> None:
    unredacted = [
        n
        for n, (text, secret, kind) in planted_secrets.planted_files().items()
        if kind != "file" and secret in redact(text, n)[0]
    ]
    assert unredacted == []


def test_secrets_in_mentioned_files_are_redacted(
    secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries
) -> None:
    client, workspace, _ = secret_workspace
    for start in range(0, len(workspace.code), 40):
        names = workspace.code[start : start + 40]
        built = client.build(" ".join(f'@"{n}"' for n in names), budget={"tokens": 100_000})
        tries("secrets", len(names))
        assert leaks(workspace, response_text(built)) == {}
        assert sum(m["status"] == "included" for m in built["mentions"]) > len(names) * 0.9


def test_mentions_of_secret_files_are_refused(
    secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries
) -> None:
    client, workspace, _ = secret_workspace
    refused = [name for name, (_, _, kind) in planted_secrets.planted_files().items() if kind == "file"]
    built = client.build(" ".join(f'@"{n}"' for n in refused) + " @workspace @diff", budget={"tokens": 100_000})
    assert leaks(workspace, response_text(built)) == {}
    assert {m["status"] for m in built["mentions"][: len(refused)]} == {"refused"}
    tries("files", len(refused))


QUESTIONS = [
    "How is a discount applied to a cart? What does it need to pay?",
    "What is this project about, how is it built, and who knows the cart? Explain the architecture.",
    "Where is the api key, the token or the password that pays?",
    "fix this file @active @selection @open @diagnostics @terminal @clipboard @quickfix",
    "review @diff @staged @branch @commit:HEAD @recent",
    "@memory @rules @history @codebase @map @tree @workspace @text:key @regex:\"(?i)token\"",
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_secrets_are_redacted_in_every_profile(
    secret_workspace: tuple[Client, SecretWorkspace, Json], question: str, effort: float, tries: Tries
) -> None:
    client, workspace, context = secret_workspace
    profiles = [p["name"] for p in client.request("promptls/profiles")["profiles"]]
    budgets = (60_000, 3_000, 900) if effort >= 3 else (60_000,)
    for number, profile in enumerate(profiles, QUESTIONS.index(question)):
        for output in ("text", "messages") if effort >= 3 else ("text", "messages")[number % 2 :][:1]:
            for budget in budgets:
                built = client.build(
                    question,
                    profile=profile,
                    output=output,
                    context=context,
                    sections=ALL_SECTIONS,
                    budget={"tokens": budget},
                )
                tries("prompts")
                # includes the outcomes of mentions and the intent
                assert leaks(workspace, response_text(built)) == {}, (profile, output, budget)


def test_secrets_are_redacted_in_recipes(secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries) -> None:
    client, workspace, context = secret_workspace
    for recipe in client.request("promptls/recipes")["recipes"]:
        if any(argument["required"] for argument in recipe["arguments"]):
            continue
        built = client.build("@shop/cart.py", recipe=recipe["name"], context=context, sections=ALL_SECTIONS)
        assert leaks(workspace, response_text(built)) == {}, recipe["name"]
        tries("prompts")


def test_secrets_are_redacted_in_graph_search_and_completion(
    secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries
) -> None:
    client, workspace, _ = secret_workspace
    answers = [response_text(client.request("promptls/graph", {"query": q, "limit": 50})) for q in QUESTIONS[:3]]
    answers += [response_text(client.request("promptls/search", {"query": q, "limit": 200})) for q in QUESTIONS[:3]]
    for question in QUESTIONS[:3]:
        params = {"query": question, "budget": {"tokens": 20_000}, "snippets": 3, "allMarked": True}
        answers.append(response_text(client.request("promptls/list", params)))
    paths = [hit["path"] for hit in client.request("promptls/search", {"query": QUESTIONS[0], "limit": 200})["hits"]]
    places = [*workspace.code, *dict.fromkeys(paths)][:100]
    answers.append(response_text(client.request("promptls/read", {"places": places, "budget": {"tokens": 100_000}})))
    for name in workspace.code:
        answers.append(response_text(client.request("promptls/explain", {"symbol": name})))
        position = {"line": 0, "character": 5}
        params = {"uri": (workspace.root / name).as_uri(), "position": position}
        answers.append(response_text(client.request("promptls/explain", params)))
    for text in ("@#pay", "@#PAY", "@#API", "@#token", "@memory:"):
        offered = client.request("promptls/completeMention", {"text": text, "offset": len(text)})["items"]
        # the other fields are names
        answers += [response_text([item["detail"], item["documentation"]]) for item in offered]
    tries("answers", len(answers))
    assert leaks(workspace, "\n".join(answers)) == {}


def test_secrets_are_redacted_in_prompt_documents(
    secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries
) -> None:
    client, workspace, _ = secret_workspace
    document = workspace.root / "ask.prompt.md"
    names = workspace.code[::7]
    client.open(document, "\n".join(f'@"{n}" ' for n in names) + "\n@#pay \n@#PAY ", language="promptls")
    at = {"textDocument": {"uri": document.as_uri()}}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(names) + 2, "character": 0}}
    answers = [
        response_text(client.request(f"textDocument/{m}", {**at, "range": whole}))
        for m in ("inlayHint", "codeLens", "documentSymbol")
    ]
    for line in range(len(names) + 2):
        position = {**at, "position": {"line": line, "character": 4}}
        answers.append(response_text(client.request("textDocument/hover", position)))
        offered = client.request("textDocument/completion", position)["items"]
        answers += [response_text([item["detail"], item["documentation"]]) for item in offered]
    tries("answers", len(answers))
    assert leaks(workspace, "\n".join(answers)) == {}
    client.close(document)


def test_index_on_disk_has_no_secrets(secret_workspace: tuple[Client, SecretWorkspace, Json], tries: Tries) -> None:
    """Terms are in lower case.  A word in capitals without a digit, such as ASIAQSTQ…, cannot be distinguished from a name."""
    _, workspace, _ = secret_workspace
    stored = b"".join(f.read_bytes() for f in sorted((workspace.root.parent / "cache").rglob("*")) if f.is_file())
    text = stored.decode("latin-1").lower()
    assert "discount" in text and "shop/cart.py" in text
    secrets = {s: place for s, place in workspace.secrets.items() if not (s.isalpha() and s.isupper())}
    assert {s: place for s, place in secrets.items() if any(part.lower() in text for part in _parts(s))} == {}
    tries("secrets", len(secrets))


def test_standard_library_has_no_secrets(tries: Tries) -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [
        path
        for path in sorted(root.rglob("*.py"))
        if {"test", "tests", "site-packages"}.isdisjoint(path.relative_to(root).parts[:-1])
    ]
    assert len(files) > 300
    found = [
        (path.name, finding) for path in files for finding in redact(path.read_text("utf-8", "replace"), str(path))[1]
    ]
    assert found == []
    tries("files", len(files))
