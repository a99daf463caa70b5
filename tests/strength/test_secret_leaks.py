"""No secret reaches a prompt unasked: some two hundred and forty, in files, differences, history, notes and what the editor tells.

Every prompt is read as a whole, with everything that the answer holds beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import planted
import pytest
from tally import Tries
from ways_out import told

from conftest import git, make_shop
from lsp import Client, Json
from promptls.prompt.sanitize import redact

ALL_SECTIONS = dict.fromkeys(("instructions", "architecture", "memory", "team", "rules", "retrieval"), True)
KINDS = list(planted.ISSUED)


class Leaky:
    """A workspace full of secrets; `secrets` says where each of them was put."""

    def __init__(self, root: Path) -> None:
        self.root = make_shop(root)
        self.secrets: dict[str, str] = {}
        git(root, "checkout", "-qb", "feature")
        for number, (name, (text, secret, _)) in enumerate(planted.files().items()):
            self._write(name, text)
            self.secrets[secret] = name
            if number % 40 == 0:
                self._commit(f"Work on {name}\n\nThe old key was {self.new('commit message')}, it is gone.")
        self._notes()
        self._commit(f"Rotate {self.new('subject')}")
        self.code = [name for name, (_, _, kind) in planted.files().items() if kind != "file"]
        for number, name in enumerate(self.code):  # so that each stands in a difference, as a line or beside one
            file = root / name
            comment = "//" if file.suffix in (".js", ".go", ".rs", ".ts") else "#"
            if file.suffix not in (".json", ".xml", ".config", ".html", ".vue") and not name.startswith("keys/"):
                file.write_text(file.read_text() + f"{comment} touched {number}\n")
            if number % 3 == 0:
                git(root, "add", "--", name)

    def new(self, place: str) -> str:
        """A secret that is to be put into a place."""
        kind = KINDS[len(self.secrets) % len(KINDS)]
        secret = planted.ISSUED[kind]()
        self.secrets[planted.core(secret)] = f"{place} ({kind})"
        return secret

    def _write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def _commit(self, message: str) -> None:
        git(self.root, "add", "-Af")
        git(self.root, "commit", "-qm", message)

    def _notes(self) -> None:
        for name in (
            "AGENTS.md",
            "CLAUDE.md",
            ".cursorrules",
            ".github/copilot-instructions.md",
            ".promptls/rules/a.md",
        ):
            self._write(name, f"# Rules of the cart\n\nDeploy with {self.new(name)}.\n\nAmounts are in cents.\n")
        recipe = f"---\ntitle: Ship\ndescription: Ship with {self.new('recipe description')}.\n---\nShip it with {self.new('recipe')}.\n"
        self._write(".promptls/recipes/ship.md", recipe)
        person = f'[[person]]\nname = "Ann Lee"\nrole = "has {self.new("team")}"\nknows = ["**"]\n'
        self._write(".promptls/team.toml", person)
        scripts = {
            "start": f"pay --key {self.new('script')}",
            "test": f"curl -H 'X-Key: {self.new('script')}' localhost",
        }
        about = {"name": "shop", "description": f"Shop with {self.new('manifest')}", "scripts": scripts}
        self._write("package.json", json.dumps(about, indent=1))
        self._write("Makefile", f"run:\n\tpay {self.new('makefile')}\n")
        self._write(
            "README.md",
            f"# Shop {self.new('heading')}\n\nPay with {self.new('readme')}.\n\n## Refunds {self.new('title')}\n\nNo.\n",
        )
        for number, length in enumerate((60, 90, 110, 180)):  # headings and heads that are cut where the secret stands
            many = ", ".join(f"pay_{n}=1" for n in range(length // 9 + 8))
            text = f"# Pay\n\n## The password that pays {'so ' * (length // 3)}{self.new('long heading')} and is kept\n\nYes.\n"
            self._write(f"docs/pay_{number}.md", text)
            self._write(
                f"shop/pay_{number}.py", f'def pay_{number}({many}, key="{self.new("long head")}"):\n    return 1\n'
            )
        self._write("CODEOWNERS", f"* @ann # {self.new('owners')}\n")
        entry = {"id": "a1", "category": "rule", "title": f"Cart {self.new('memory title')}",
                 "content": f"The cart and its discount need {self.new('workspace memory')}.", "tags": [self.new("memory tag")[:40]],
                 "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}  # fmt: skip
        self.secrets.pop(entry["tags"][0], None)
        entry["tags"] = []
        self._write(".promptls/memory.json", json.dumps({"version": 1, "entries": [entry]}))

    def context(self) -> Json:
        """What an editor tells, secrets in every text of it."""
        cart = (self.root / "shop/cart.py").as_uri()
        at = {"start": {"line": 10, "character": 0}, "end": {"line": 12, "character": 0}}
        finding = {"range": at, "message": f"key {self.new('diagnostic')} is wrong", "severity": 1,
                   "source": self.new("source"), "code": self.new("code")}  # fmt: skip
        return {
            "activeDocument": cart,
            "selection": {"uri": (self.root / self.code[3]).as_uri(), "range": {"start": at["start"] | {"line": 0}, "end": at["end"]}},
            "terminal": f"$ env\nPAY_TOKEN={self.new('terminal')}\nOTHER_KEY={self.new('terminal')}\n",
            "clipboard": f"paste {self.new('clipboard')}\n" + self._key(),
            "diagnostics": [{"uri": cart, "diagnostics": [finding]}],
            "quickfix": [{"uri": (self.root / self.code[5]).as_uri(), "range": at}],
            "history": [
                {"role": "user", "content": f"It said 401 with {self.new('turn of the user')}."},
                {"role": "assistant", "content": f"Then use\n```\ncurl -H 'X: {self.new('turn of the model')}'\n```"},
            ],
        }  # fmt: skip

    def _key(self) -> str:
        pem = planted.key("RSA PRIVATE KEY")
        self.secrets[pem.split("\n")[4]] = "clipboard (key)"
        return pem


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Leaky, Json]]:
    folder = tmp_path_factory.mktemp("leaky")
    work = Leaky(folder / "shop")
    client = Client(folder / "cache")
    client.initialize(work.root)
    add = {"action": "add", "scope": "user", "category": "knowledge", "title": "Discount of a cart"}
    client.request("promptls/memory", {**add, "content": f"A discount of the cart needs {work.new('user memory')}."})
    unsaved = work.root / "shop/unsaved.py"
    client.open(unsaved, f"# {work.new('unsaved text')}\nPAY = '{work.new('unsaved text')}'\n")
    context = work.context()
    client.wait_indexed()
    yield client, work, context
    client.kill()


def leaks(work: Leaky, text: str) -> dict[str, str]:
    """Secrets that are in a text, whole or to two thirds of their length, and where they were put."""
    return {s: where for s, where in work.secrets.items() if any(part in text for part in _parts(s))}


def _parts(secret: str) -> tuple[str, ...]:
    third = len(secret) // 3
    return (secret[third:], secret[:-third]) if len(secret) > 20 else (secret,)


def test_the_set_is_large_and_seen_where_nothing_hides_it(leaky: tuple[Client, Leaky, Json]) -> None:
    """Else the tests below could not fail."""
    _, work, context = leaky
    assert len(work.secrets) > 240
    everywhere = told(context) + "".join(
        f.read_text() for f in sorted(work.root.rglob("*")) if f.is_file() and ".git/" not in str(f)
    )
    assert len(leaks(work, everywhere)) > 220


def test_the_shapes_are_found_in_a_text_by_itself() -> None:
    left = [n for n, (text, secret, kind) in planted.files().items() if kind != "file" and secret in redact(text, n)[0]]
    assert left == []


def test_shown_by_name_they_are_redacted(leaky: tuple[Client, Leaky, Json], tries: Tries) -> None:
    client, work, _ = leaky
    for start in range(0, len(work.code), 40):
        names = work.code[start : start + 40]
        built = client.build(" ".join(f'@"{n}"' for n in names), budget={"tokens": 100_000})
        tries("secrets", len(names))
        assert leaks(work, told(built)) == {}
        assert sum(m["status"] == "included" for m in built["mentions"]) > len(names) * 0.9


def test_files_made_for_secrets_stay_closed(leaky: tuple[Client, Leaky, Json], tries: Tries) -> None:
    client, work, _ = leaky
    made = [name for name, (_, _, kind) in planted.files().items() if kind == "file"]
    built = client.build(" ".join(f'@"{n}"' for n in made) + " @workspace @diff", budget={"tokens": 100_000})
    assert leaks(work, told(built)) == {}
    assert {m["status"] for m in built["mentions"][: len(made)]} == {"refused"}
    tries("files", len(made))


QUESTIONS = [
    "How is a discount applied to a cart? What does it need to pay?",
    "What is this project about, how is it built, and who knows the cart? Explain the architecture.",
    "Where is the api key, the token or the password that pays?",
    "fix this file @active @selection @open @diagnostics @terminal @clipboard @quickfix",
    "review @diff @staged @branch @commit:HEAD @recent",
    "@memory @rules @history @codebase @map @tree @workspace @text:key @regex:\"(?i)token\"",
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_profile_lets_one_through(
    leaky: tuple[Client, Leaky, Json], question: str, effort: float, tries: Tries
) -> None:
    client, work, context = leaky
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
                # the outcome of a mention and the intent are the question's own words
                assert leaks(work, told(built)) == {}, (profile, output, budget)


def test_recipes_let_none_through(leaky: tuple[Client, Leaky, Json], tries: Tries) -> None:
    client, work, context = leaky
    for recipe in client.request("promptls/recipes")["recipes"]:
        if any(argument["required"] for argument in recipe["arguments"]):
            continue
        built = client.build("@shop/cart.py", recipe=recipe["name"], context=context, sections=ALL_SECTIONS)
        assert leaks(work, told(built)) == {}, recipe["name"]
        tries("prompts")


def test_what_editors_and_models_are_told_of_definitions_holds_none(
    leaky: tuple[Client, Leaky, Json], tries: Tries
) -> None:
    client, work, _ = leaky
    answers = [told(client.request("promptls/graph", {"query": q, "limit": 50})) for q in QUESTIONS[:3]]
    answers += [told(client.request("promptls/search", {"query": q, "limit": 200})) for q in QUESTIONS[:3]]
    for name in work.code:
        answers.append(told(client.request("promptls/explain", {"symbol": name})))
        position = {"line": 0, "character": 5}
        params = {"uri": (work.root / name).as_uri(), "position": position}
        answers.append(told(client.request("promptls/explain", params)))
    for text in ("@#pay", "@#PAY", "@#API", "@#token", "@memory:"):
        offered = client.request("promptls/completeMention", {"text": text, "offset": len(text)})["items"]
        answers += [told([item["detail"], item["documentation"]]) for item in offered]  # the rest are names
    tries("answers", len(answers))
    assert leaks(work, "\n".join(answers)) == {}


def test_a_prompt_document_shows_none(leaky: tuple[Client, Leaky, Json], tries: Tries) -> None:
    client, work, _ = leaky
    document = work.root / "ask.prompt.md"
    names = work.code[::7]
    client.open(document, "\n".join(f'@"{n}" ' for n in names) + "\n@#pay \n@#PAY ", language="promptls")
    at = {"textDocument": {"uri": document.as_uri()}}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(names) + 2, "character": 0}}
    said = [
        told(client.request(f"textDocument/{m}", {**at, "range": whole}))
        for m in ("inlayHint", "codeLens", "documentSymbol")
    ]
    for line in range(len(names) + 2):
        position = {**at, "position": {"line": line, "character": 4}}
        said.append(told(client.request("textDocument/hover", position)))
        offered = client.request("textDocument/completion", position)["items"]
        said += [told([item["detail"], item["documentation"]]) for item in offered]
    tries("answers", len(said))
    assert leaks(work, "\n".join(said)) == {}
    client.close(document)
