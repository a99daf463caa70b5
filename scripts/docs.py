"""The generated parts of the documentation and of the clients: tables in README.md, server/PROTOCOL.md, settings.

Tables come from the code (settings, mention kinds, models), the protocol page from the golden messages of
tests/protocol.  A block in README.md stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import editor_settings
import msgspec

from promptls.api import params
from promptls.lsp import ENDPOINTS, LANGUAGE
from promptls.mentions import grammar
from promptls.mentions.registry import BUILT_IN
from promptls.prompt import tokens
from promptls.prompt.profile import PROFILES, profile
from promptls.prompt.recipes import built_in, collect

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "protocol"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def settings_table() -> str:
    """Every setting with its default and description."""
    rows = [
        (
            f"`{s.section}.{s.name}`",
            f"`{json.dumps(s.default)}`",
            s.description + (" Only in your own settings." if s.trusted else ""),
        )
        for s in editor_settings.all_settings()
    ]
    return table(("setting", "default", "meaning"), rows)


def mentions_table() -> str:
    """Every kind of mention with its syntax."""
    rows = [(k.name, " ".join(f"`{s}`" for s in k.syntax), k.help) for k in BUILT_IN]
    return table(("kind", "written", "brings"), rows)


def quality_table(name: str) -> str:
    """What an evaluation has measured."""
    return (ROOT / "scripts" / "evaluation" / "data" / f"{name}.md").read_text("utf-8").strip()


def models_table() -> str:
    """The budget table, models of one budget together."""
    default, models = tokens.models()
    by_budget: dict[int, list[str]] = {}
    for name, budget in models.items():
        by_budget.setdefault(budget, []).append(f"`{name}`")
    rows = [(f"{budget:,}", " ".join(sorted(names))) for budget, names in sorted(by_budget.items())]
    return table(("tokens", "models"), [*rows, (f"{default:,}", "any other, with a warning")])


def profiles_table() -> str:
    """Every profile with what it stands for."""
    return table(("profile", "what it is"), [(f"`{name}`", profile(name).about) for name in PROFILES])


def recipes_table() -> str:
    """Every built-in recipe with its arguments."""
    rows = [
        (f"`{name}`", recipe.description, " ".join(f"`{a.name}`" for a in recipe.arguments))
        for name, recipe in collect(built_in()).recipes.items()
    ]
    return table(("recipe", "asks for", "arguments"), rows)


BLOCKS = {
    "settings": settings_table,
    "mentions": mentions_table,
    "models": models_table,
    "quality": lambda: quality_table("quality"),
    "ablation": lambda: quality_table("ablation"),
    "profiles": profiles_table,
    "recipes": recipes_table,
}


EDITORS = {
    "editors/vscode/package.json": editor_settings.package_json,
    "editors/nvim/lua/promptls/settings.lua": editor_settings.lua_types,
    "editors/emacs/promptls-settings.el": editor_settings.elisp,
}
"""Files of the clients that are made from the settings."""


def readme(text: str) -> str:
    """README.md with its blocks made anew."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n{BLOCKS[match[2]]()}\n<!-- end -->"

    return re.sub(r"(<!-- generated: (\w+) -->)\n.*?<!-- end -->", block, text, flags=re.S)


def type_name(hint: Any) -> str:
    """A type as the protocol page writes it."""
    if get_origin(hint) is tuple:
        return f"{type_name(get_args(hint)[0])}[]"
    if get_origin(hint) is dict:
        return f"{{name: {type_name(get_args(hint)[1])}}}"
    if args := get_args(hint):
        return " or ".join(type_name(a) for a in args if a not in (type(None), msgspec.UnsetType))
    return {"str": "string", "bool": "boolean", "Any": "any"}.get(
        getattr(hint, "__name__", str(hint)), getattr(hint, "__name__", str(hint))
    )


def params_tables() -> str:
    """The fields of all params and of what they are made of."""
    out = []
    kinds = dict.fromkeys(
        [kind for kind, _ in ENDPOINTS.values()]
        + [kind for kind, *_ in LANGUAGE.values()]
        + [
            params.Context,
            params.FileDiagnostics,
            params.Diagnostic,
            params.Turn,
            params.Budget,
            params.Sections,
            params.Cited,
        ]
    )
    for kind in kinds:
        hints = get_type_hints(kind)
        rows = [
            (f"`{f.encode_name}`", type_name(hints[f.name]), "required" if f.required else "optional")
            for f in msgspec.structs.fields(kind)
        ]
        if rows:
            out.append(f"### {kind.__name__}\n\n{table(('field', 'type', ''), rows)}")
    return "\n\n".join(out)


def grammar_lines() -> str:
    """The forms of mentions, as the grammar itself tells them."""
    lines = (grammar.__doc__ or "").split("\n")
    return "\n".join(line.strip() for line in lines if line.startswith("    @"))


def protocol_page() -> str:
    """server/PROTOCOL.md"""
    parts = [
        "# The wire",
        "<!-- Written by scripts/docs from the code and from tests/protocol; do not edit. -->",
        "Every request below is also a `workspace/executeCommand` command with a dot instead of the slash "
        "(`promptls.buildPrompt`) and one JSON argument. Ranges are LSP ranges of whole lines; offsets into a message "
        "are in UTF-16 units. Errors: -32602 names the field and lists what is valid, -32800 cancelled, -32002 before "
        "`initialize`, -32600 after `shutdown`. The server tells changes of its state with the notification "
        "`promptls/statusChanged`, whose params are the result of `promptls/status`.",
        table(("request", "params"), [(f"`{name}`", kind.__name__) for name, (kind, _) in ENDPOINTS.items()]),
        "## Mentions",
        f"Version {grammar.GRAMMAR_VERSION} of the grammar; `promptls/mentionKinds` lists the kinds, README.md shows them. "
        "A mention begins at the start of a word, ends at white space or a closing mark, and does not stand in code. "
        "Trailing punctuation is the sentence's. A name with spaces is quoted or has its spaces escaped.",
        f"```text\n{grammar_lines()}\n```",
        "## Prompt documents",
        "Documents of the language `promptls`, named `*.prompt.md`, or of a language that `documents.languages` adds. "
        "What is shown for the mentions in them is the same dry run that `promptls/resolveMentions` gives; other "
        "documents get null. Diagnostics are published with the codes `unresolved`, `ambiguous`, `refused`, `omitted`, "
        "`over-budget`, `moved`, `changed` and `deleted`. A mentioned range or definition is bound to its text when it "
        "is first seen; a request takes part in that by naming the `document` that its message stands in.",
        table(("feature", "params"), [(f"`{name}`", kind.__name__) for name, (kind, *_) in LANGUAGE.items()]),
        "Lenses and code actions run the commands `promptls.openPrompt` and `promptls.copyPrompt` with `{uri}` of the "
        "document. A client with a view of its own runs them itself; without one the server writes the prompt to a file "
        "and has it shown by `window/showDocument`, or tells where it is.",
        "## What the server asks of the client",
        "Only of clients that declare it under `capabilities.experimental.promptls`: `clientContext: true` for "
        "`promptls/clientContext` `{kinds}`, when a message has mentions that need fields of the context that the "
        "request does not bring (`kinds` are the names of the fields; the answer is a Context with them); "
        "`complete: true` for `promptls/complete` `{messages, maxTokens}`, answered by `{text}`, when the user's "
        "settings let the editor's language model help to read questions.",
        "## Params",
        params_tables(),
        "## Messages",
        "As the tests of every client read them; what differs from run to run is masked.",
    ]
    for case in json.loads((GOLDEN / "cases.json").read_text()):
        answer = json.loads((GOLDEN / "golden" / f"{case['name']}.json").read_text())
        parts += [
            f"### {case['name']}",
            f"{case['about']} `{case['method']}`",
            f"```json\n{json.dumps(case['params'], indent=1, ensure_ascii=False)}\n```",
            f"```json\n{json.dumps(shortened(answer), indent=1, ensure_ascii=False)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def shortened(value: Any) -> Any:
    """Long lists by their first entries."""
    if isinstance(value, list):
        return [shortened(v) for v in value[:3]] + (["…"] if len(value) > 3 else [])
    return {k: shortened(v) for k, v in value.items()} if isinstance(value, dict) else value


def main() -> int:
    """Write, or with --check compare; the exit code."""
    pages = {
        ROOT / "README.md": readme((ROOT / "README.md").read_text("utf-8")),
        ROOT / "server/PROTOCOL.md": protocol_page(),
    }
    for place, write in EDITORS.items():
        if (ROOT / place).parent.is_dir() and (not place.endswith(".json") or (ROOT / place).exists()):
            pages[ROOT / place] = write((ROOT / place).read_text("utf-8") if place.endswith(".json") else "")
    stale = [file for file, text in pages.items() if not file.exists() or file.read_text("utf-8") != text]
    if "--check" in sys.argv:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is out of date; run scripts/docs.", file=sys.stderr)
        return 1 if stale else 0
    for file in stale:
        file.write_text(pages[file], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
