"""Generate the reference pages, the tables in README.md, and the settings and tools of the editor clients.

The constant answers of the MCP server come from its SDK. Tables come from the code: settings, mention kinds, models, profiles, recipes, the command line. The protocol page
comes from the golden messages in tests/protocol. A block `<!-- generated: NAME -->` … `<!-- end -->` in README.md or
in a page of server/docs is replaced by the table of that name; `<!-- generated: test FILE NAME -->` by a test of the
suite, with the imports and helpers of its file that it uses.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import anyio
import editor_settings
import editor_tools
import msgspec

from promptls.api.messages import params
from promptls.cli.main import argument_parser
from promptls.lsp import CUSTOM_REQUESTS, LSP_FEATURES
from promptls.mentions.registry import BUILT_IN
from promptls.mentions.syntax import grammar
from promptls.prompt import tokens
from promptls.prompt.profile import loadable_profiles
from promptls.prompt.recipes import built_in_recipes, collect_recipes

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "protocol"
DOCS = ROOT / "server" / "docs"
QUALITY = ROOT / "scripts" / "evaluation" / "data"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def settings_table() -> str:
    """Return all settings with default and description."""
    rows = [
        (
            f"`{s.section}.{s.name}`",
            f"`{json.dumps(s.default)}`",
            s.description + (" User settings only." if s.trusted else ""),
        )
        for s in editor_settings.all_settings()
    ]
    return table(("setting", "default", "description"), rows)


def mentions_table() -> str:
    """Return all mention kinds with their syntax."""
    rows = [(k.name, " ".join(f"`{s}`" for s in k.syntax), k.help) for k in BUILT_IN]
    return table(("kind", "syntax", "adds"), rows)


def quality_table(name: str) -> str:
    """Return a table that `scripts/evaluate` wrote."""
    return (QUALITY / f"{name}.md").read_text("utf-8").strip()


def models_table() -> str:
    """Return the budgets, with the models of each."""
    default, models = tokens.models()
    by_budget: dict[int, list[str]] = {}
    for name, budget in models.items():
        by_budget.setdefault(budget, []).append(f"`{name}`")
    rows = [(f"{budget:,}", " ".join(sorted(names))) for budget, names in sorted(by_budget.items())]
    return table(("tokens", "models"), [*rows, (f"{default:,}", "any other model (with a warning)")])


def profiles_table() -> str:
    """Return all profiles with their description."""
    return table(("profile", "description"), [(f"`{p.name}`", p.about) for p in loadable_profiles()])


def recipes_table() -> str:
    """Return all built-in recipes with their arguments."""
    rows = [
        (f"`{name}`", recipe.description, " ".join(f"`{a.name}`" for a in recipe.arguments))
        for name, recipe in collect_recipes(built_in_recipes()).recipes.items()
    ]
    return table(("recipe", "task", "arguments"), rows)


SHORT_MEASURES = ("shown@8k", "complete@8k", "coverage@8k", "hit@8k", "function@10", "NDCG@10")
"""Measures of the quality table that README.md shows, for whole sets of questions."""


def short_quality_table() -> str:
    """Return the main rows of the quality table, and what follows it."""
    rows, rest = quality_table("quality").split("\n\n", 1)
    head, rule, *body = rows.split("\n")
    kept = [row for row in body if not row.startswith("| –") and row.split(" | ")[2] in SHORT_MEASURES]
    return "\n".join([head, rule, *kept, "", rest])


def short_speed_table() -> str:
    """Return the main figures of the benchmarks for three workspaces."""
    results = json.loads((ROOT / "scripts" / "benchmarks" / "results.json").read_text("utf-8"))
    names = [name for name in ("packages", "stdlib", "large") if name in results]
    figures: list[tuple[str, Callable[[Any], str]]] = [
        ("first scan", lambda f: f"{f['ready']:.1f} s"),
        ("start with an existing index", lambda f: f"{f['warm']:.1f} s"),
        (
            "prompt of 4,000 tokens, p50 / p95",
            lambda f: f"{1000 * f['prompt'][0]:.0f} / {1000 * f['prompt'][1]:.0f} ms",
        ),
        ("memory of all processes, idle", lambda f: f"{f['memory']:.0f} MB"),
    ]
    head = ("", *(f"{results[name]['lines']:,} lines" for name in names))
    return table(head, [(label, *(show(results[name]) for name in names)) for label, show in figures])


def command_line_help() -> str:
    """Return the arguments of every command as tables."""
    parser = argument_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    help_texts = {a.dest: a.help or "" for a in commands._choices_actions}
    parts = [f"## promptls\n\n{_arguments(parser)}"]
    for name, command in commands.choices.items():
        about = help_texts.get(name, "")
        parts.append(f"## promptls {name}\n\n{about[:1].upper()}{about[1:]}.\n\n{_arguments(command)}")
    return "\n\n".join(parts)


def _arguments(parser: argparse.ArgumentParser) -> str:
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
        if action.choices and action.metavar is None:
            value = "{" + ",".join(map(str, action.choices)) + "}"
        names = [f"`{option} {value}`" if value else f"`{option}`" for option in action.option_strings]
        rows.append((", ".join(names) or f"`{value}`", action.help or ""))
    return table(("argument", "description"), rows) if rows else "No arguments."


BLOCKS = {
    "settings": settings_table,
    "mentions": mentions_table,
    "models": models_table,
    "quality": lambda: quality_table("quality"),
    "quality-short": short_quality_table,
    "speed-short": short_speed_table,
    "efficiency": lambda: quality_table("efficiency"),
    "reliability": lambda: quality_table("reliability"),
    "agents-speed": lambda: quality_table("agents_speed"),
    "ablation": lambda: quality_table("ablation"),
    "profiles": profiles_table,
    "recipes": recipes_table,
    "command-line": command_line_help,
}


EDITORS = {
    "editors/vscode/package.json": lambda text: editor_tools.package_json(editor_settings.package_json(text)),
    "editors/nvim/lua/promptls/settings.lua": editor_settings.lua_types,
    "editors/nvim/lua/promptls/tools.lua": editor_tools.lua,
    "editors/emacs/promptls.el": editor_settings.elisp_header,
    "editors/emacs/promptls-settings.el": editor_settings.elisp,
    "editors/emacs/promptls-tools.el": editor_tools.elisp,
}
"""Files of the editor clients that are generated from the settings, the tools and the version."""


def filled(text: str) -> str:
    """Return a page with its generated blocks replaced."""

    def block(match: re.Match[str]) -> str:
        indent, head, name, *test = match.groups()
        content = suite_test(*test) if test[0] else BLOCKS[name]()
        return "\n".join(f"{indent}{line}".rstrip() for line in [head, *content.split("\n"), "<!-- end -->"])

    generated_block = r"^([ ]*)(<!-- generated: ([\w-]+)(?: (\S+) (\w+))? -->)\n.*?<!-- end -->"
    return re.sub(generated_block, block, text, flags=re.S | re.M)


def suite_test(file: str, name: str) -> str:
    """Return a test as a code block, with the imports, constants and functions of its file that it uses."""
    source = (ROOT / file).read_text("utf-8")
    lines = source.splitlines()
    definitions = {defined: node for node in ast.parse(source).body for defined in _defined_names(node)}
    used = {name}
    todo = [name]
    while todo:
        nodes = list(ast.walk(definitions[todo.pop()]))
        names = {n.id if isinstance(n, ast.Name) else n.arg for n in nodes if isinstance(n, ast.Name | ast.arg)}
        todo += sorted((names & definitions.keys()) - used)
        used |= names & definitions.keys()
    parts = []
    for node in sorted({definitions[one] for one in used}, key=lambda node: node.lineno):
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in used]
            parts.append(ast.unparse(node))
        else:
            start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            blank = "\n\n" if isinstance(node, ast.FunctionDef) else "\n"  # as the formatter wants
            parts.append(blank + "\n".join(lines[start - 1 : node.end_lineno]))
    return f'```python title="{file}"\n' + "\n".join(parts).strip() + "\n```"


def _defined_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return []


def type_name(hint: Any) -> str:
    """Return a type in the notation of the protocol page."""
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
    """Return the fields of all params structs and of the structs in them."""
    out = []
    kinds = dict.fromkeys(
        [kind for kind, _ in CUSTOM_REQUESTS.values()]
        + [kind for kind, *_ in LSP_FEATURES.values()]
        + [
            params.SetBudgetParams,
            params.OpenPageParams,
            params.PageActionParams,
            params.Location,
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
    """Return the forms of mentions from the docstring of the grammar."""
    lines = (grammar.__doc__ or "").split("\n")
    return "\n".join(line.strip() for line in lines if line.startswith("    @"))


def protocol_page() -> str:
    """Return server/docs/reference/protocol.md."""
    parts = [
        "# Protocol",
        "<!-- Generated by scripts/docs from the code and from tests/protocol; do not edit. -->",
        "Every request is also a `workspace/executeCommand` command with a dot instead of the slash "
        "(`promptls.buildPrompt`) and one JSON argument. Ranges are LSP ranges of whole lines. Offsets into a message "
        "count UTF-16 code units.",
        "Line numbers of a Jupyter notebook refer to its cells as one text in the percent format. Items and mention "
        "targets in a notebook have a field `location`: URI and range where an editor shows them, in a cell if the "
        "editor synchronizes notebooks, else in the JSON of the file. Positions in params are those of the editor.",
        "Errors: -32602 names the field and lists the valid values, -32800 means cancelled, -32002 that `initialize` is "
        "missing, -32600 that the server was shut down. The server reports changes of its state with the notification "
        "`promptls/statusChanged`, whose params are the result of `promptls/status`.",
        table(("request", "params"), [(f"`{name}`", kind.__name__) for name, (kind, _) in CUSTOM_REQUESTS.items()]),
        "## Mentions",
        f"Version {grammar.GRAMMAR_VERSION} of the grammar. `promptls/mentionKinds` lists the kinds. "
        "A mention ends with the longest path or symbol that exists, see [Mention kinds](mention-kinds.md). Code "
        "contains no mentions. Punctuation at the end belongs to the sentence. A name with spaces is quoted, or its spaces are "
        "escaped.",
        f"```text\n{grammar_lines()}\n```",
        "### What is code",
        "Code blocks and code spans are those of CommonMark, also in lists and quotes, whose markers are skipped. The HTML elements `code`, `kbd`, "
        "`pre`, `samp`, `script`, `style` and `tt` are code, too. Indentation that all lines share is ignored.",
        "If a fence or three backticks are left over, the message is read a second time. Then a fence may open at the end "
        "of a sentence, and close at the end of a code line or before more text. The reading that leaves less over is "
        "used. Otherwise a fence that is not closed extends to the end of the message.",
        "A bare word (`@tree`, `@test`) is also text where a message contains code without a fence: in assignments, "
        "declarations, calls, comments, SQL statements, indented bodies, annotations above a declaration, and commands "
        "of package managers. A variable of the code is text in the prose of the message, too. `@tree:` and `@test/` "
        "are mentions anywhere outside of a fence.",
        "If a kind, a file or a folder has the name of a word that is text, there is a diagnostic of the code `text` "
        "with the mention to write instead, and a warning in the results of `promptls/buildPrompt` and "
        "`promptls/resolveMentions`.",
        "## Prompt documents",
        "A prompt document has the language `promptls`, the name `*.promptls.md` or `*.prompt.md`, or a language that "
        "`documents.languages` lists. Its features show the dry run that `promptls/resolveMentions` returns; other "
        "documents get null. Diagnostics have the codes `unresolved`, `ambiguous`, `refused`, `omitted`, "
        "`over-budget`, `moved`, `changed`, `deleted` and `text`. They are pushed with the version of the document. A "
        "mention at the last edit keeps its diagnostic, or the lack of one, until the user types elsewhere or pauses for "
        "1.5 s; a mention that is not found keeps it while the index is incomplete. A mention of editor state that is "
        "empty, such as `@problems` without problems, is omitted. A mentioned range is anchored to its text "
        "when it is first resolved, until the server exits; a request uses these anchors if it names the `document` that "
        "contains the message.",
        table(("feature", "params"), [(f"`{name}`", kind.__name__) for name, (kind, *_) in LSP_FEATURES.items()]),
        "Code lenses and code actions run the commands `promptls.openPrompt` and `promptls.copyPrompt` with the `{uri}` "
        "of the document. A client with its own preview handles them. Otherwise the server writes the prompt to a file "
        "and opens it with `window/showDocument`, or reports its path.",
        "If the mentions do not fit, a lens offers a sufficient budget with the command `promptls.setBudget`. The budget "
        "is that of the document until it is closed: of its features, and of `promptls/buildPrompt` requests that name "
        "it without a budget.",
        "`promptls.answer`, also a request, sends the prompt of the document `{uri}` to the language model of the user's "
        "settings, the whole prompt with its code, and inserts the answer at the end with `workspace/applyEdit`, between "
        "the lines `<!-- answer: MODEL -->` and `<!-- end of answer -->`. What follows the last answer is the current "
        "question; the turns before it are its history, and answers contain no mentions. A lens offers the command if a "
        "language model is configured.",
        "## Pages",
        "`promptls/openPage` sends the request of a kind of page and keeps its result as a read-only Markdown document; "
        "see [Pages](../explanation/pages.md). The result is `{uri, title, result}`; `uri` in the params replaces a page. "
        "`workspace/textDocumentContent` returns the text; `textDocument/documentLink`, `definition` and `foldingRange` "
        "work on the URI. The kind `prompt` takes the params of `promptls/buildPrompt`; with `followsDocument`, each "
        "build takes the current text of the open `document` as its message. The other kinds take the params of the "
        "request of the same name.",
        "`promptls/pageAction` changes the page of a prompt and returns `{line, changed}`. The target of the link of a "
        "button is this command with its arguments, `command:promptls.pageAction?[…]`, URL-encoded. `promptls/pageResult` "
        "`{uri}` returns what `promptls/openPage` has returned, for the current state of the page. After a change the "
        "server sends `workspace/textDocumentContent/refresh` to clients with the capability "
        "`workspace.textDocumentContent`.",
        "## Requests from the server to the client",
        "The server sends these only to clients that declare them under `capabilities.experimental.promptls`. "
        "`clientContext: true` allows `promptls/clientContext` `{kinds}`, sent when mentions need fields of the context that the "
        "request does not contain; `kinds` are the names of the fields, and the response is a Context with them. "
        "`complete: true` allows `promptls/complete` `{messages, maxTokens}`, answered by `{text}`, if the user's "
        "settings let the editor's language model interpret questions. `userSettings: true` states that "
        "`workspace/didChangeConfiguration` `{settings: {promptls}}` has the user's own settings, never those of a "
        "workspace: they replace the initialization options without a restart. The server still requests the workspace "
        "settings and does not trust them.",
        "## List and read",
        "`promptls/list` and `promptls/read` return a `text` for a language model, its `tokens`, and the `regions` in it; "
        "[List and read](../explanation/list-and-read.md) describes both texts. The budget counts the whole text. The "
        "first line of a text is about an index that is not complete, with the seconds that are left, and about files "
        "that have changed since they were indexed, whose regions are not listed. A region of a list has a `number`, one "
        "or more `ranges` and a `mark` (`test`, `docs`, `example`, `data` or empty); `found` counts the regions that the search "
        "has found. `first` numbers the first region, for further lists of one conversation. A place of a read is `path`, "
        "`path:10-60`, `path#Name` or `#Name`. Text that an earlier read of the same `session` has returned and that has "
        "not changed since is one line and `repeated`, unless `again` is true. A region is `complete` if the budget has "
        "not cut it. `problems` has one sentence for each place that cannot be read.",
        "## Team index",
        "If the settings name a team index, the results of `promptls/search` and of `promptls/graph` with a query have a "
        "field `team` `{hits, message}`. A hit has `repository`, `commit`, `age`, `path`, `range`, `kind`, `symbol`, "
        "`score` and `text`, because no client can open the file. `message` says why hits are missing, within "
        "`team.deadlineMs`. Items of a prompt that come from it have the origin `team` and the URI of a virtual document. "
        "`promptls/status` has a field `team` `{index, state, version, repositories, chunks, unindexed, age, model, "
        "message}`; `state` is `closed`, `ready` or `failed`.",
        "## Params",
        params_tables(),
        "## Messages",
        "The tests of every client read these messages. Values that differ between runs are masked.",
    ]
    for case in json.loads((GOLDEN / "cases.json").read_text()):
        response = json.loads((GOLDEN / "golden" / f"{case['name']}.json").read_text())
        parts += [
            f"### {case['name']}",
            f"{case['about']} `{case['method']}`",
            f"```json\n{json.dumps(case['params'], indent=1, ensure_ascii=False)}\n```",
            f"```json\n{json.dumps(shortened(response), indent=1, ensure_ascii=False)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def shortened(value: Any) -> Any:
    """Return a JSON value with long lists cut."""
    if isinstance(value, list):
        return [shortened(v) for v in value[:3]] + (["…"] if len(value) > 3 else [])
    return {k: shortened(v) for k, v in value.items()} if isinstance(value, dict) else value


def handshake_answers() -> str:
    """Return the constant answers of the MCP server, as its SDK gives them: server/promptls/mcp/answers.json."""
    from mcp.server import Server
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCRequest
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    from promptls.mcp.mcp_server import create_server, initialization_options
    from promptls.mcp.workspaces import Workspaces
    from promptls.settings import Settings

    server: Server[Any] = create_server(Workspaces((), Settings()))

    async def answers(*requests: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        to_server, from_client = anyio.create_memory_object_stream[Any](len(requests))
        to_client, from_server = anyio.create_memory_object_stream[Any](len(requests))
        for number, (method, request) in enumerate(requests):
            message = JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=request)
            to_server.send_nowait(SessionMessage(message))
        found: dict[str, Any] = {}
        async with to_server, from_server, anyio.create_task_group() as group:
            group.start_soon(server.run, from_client, to_client, initialization_options(server))
            while len(found) < len(requests):
                answer = (await from_server.receive()).message
                found[requests[answer.id][0]] = answer.result
            group.cancel_scope.cancel()
        return found

    client = {"clientInfo": {"name": "docs", "version": "1"}, "capabilities": {}}
    legacy = {"protocolVersion": HANDSHAKE_PROTOCOL_VERSIONS[-1], **client}
    content: dict[str, Any] = {
        "versions": HANDSHAKE_PROTOCOL_VERSIONS,
        "legacy": asyncio.run(answers(("initialize", legacy), ("tools/list", {}), ("ping", {}), ("prompts/list", {}))),
        "modern": {},
    }
    for version in MODERN_PROTOCOL_VERSIONS:
        envelope = {"protocolVersion": version, "clientInfo": client["clientInfo"], "clientCapabilities": {}}
        request = {"_meta": {f"io.modelcontextprotocol/{key}": value for key, value in envelope.items()}}
        content["modern"][version] = asyncio.run(
            answers(("server/discover", request), ("tools/list", request), ("prompts/list", request))
        )
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def generated() -> dict[Path, str]:
    """Return the present text of every generated file."""
    pages = {page: filled(page.read_text("utf-8")) for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
    pages[DOCS / "reference" / "protocol.md"] = protocol_page()
    pages[ROOT / "server" / "promptls" / "mcp" / "answers.json"] = handshake_answers()
    for name, write in EDITORS.items():
        file = ROOT / name
        if file.parent.is_dir():
            pages[file] = write(file.read_text("utf-8") if file.exists() else "")
    return pages


def main() -> int:
    """Write the generated files, or compare them with `--check`; return the exit status."""
    stale = {f: t for f, t in generated().items() if not f.exists() or f.read_text("utf-8") != t}
    if "--check" in sys.argv:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is out of date; run scripts/docs.", file=sys.stderr)
        return 1 if stale else 0
    for file, text in stale.items():
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
