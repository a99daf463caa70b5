"""Handle `promptls/lintInstructions`: instruction files, what is wrong in them, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import uri_of
from promptls.api.messages.params import InvalidParams, Json
from promptls.engine import Engine
from promptls.knowledge.rule_files import rule_location, rules_of_tool
from promptls.mentions.context import ClientContext, ResolveContext
from promptls.mentions.instruction_files import Finding, check_file
from promptls.model import CancelToken
from promptls.model.files import is_instruction_file
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.prompt.tokens import Counter
from promptls.util.text.positions import LineIndex

HISTORY_TIMEOUT_S = 10.0
"""Seconds for the history of git, which knows the new names of files."""


def lint_instructions(engine: Engine, params: protocol.LintInstructionsParams, token: CancelToken) -> Json:
    """Check the instruction files of the workspace, or those of some paths, which are relative to their root."""
    snapshot = engine.snapshot(token)
    context = engine.resolve_context(ClientContext(), snapshot, token)
    engine.services.git_history.histories([root.path for root in snapshot.roots], HISTORY_TIMEOUT_S)
    files = sorted(path for path, entry in snapshot.files.items() if is_instruction_file(entry.name))
    if params.paths:
        wanted = tuple(path.rstrip("/") for path in params.paths)
        files = [path for path in files if _is_wanted(snapshot.files[path].name, wanted)]
        if not files:
            raise InvalidParams("paths: contain no instruction file.", "paths")
    return {"files": [checked for path in files if (checked := _check(path, context, engine)) is not None]}


def _is_wanted(name: str, wanted: Sequence[str]) -> bool:
    return any(path in ("", ".") or name == path or name.startswith(f"{path}/") for path in wanted)


def _check(path: str, context: ResolveContext, engine: Engine) -> Json | None:
    text = context.sources.read_text(path)
    if not isinstance(text, str):
        return None
    counter = budget_of(engine.settings.budget, BudgetRequest()).counter
    return {
        "uri": uri_of(path, context.snapshot.documents),
        "path": context.snapshot.label(path),
        "tokens": counter.count(text),
        "findings": list(encode_findings(check_file(text, path, context), LineIndex(text, engine.encoding))),
    }


class LoadedFiles(Struct, frozen=True):
    """The rule files that a tool loads together with one of them."""

    scope: str  # the files, as globs or in words
    files: int
    tokens: int


def loaded_files(path: str, context: ResolveContext, counter: Counter) -> LoadedFiles | None:
    """Return what is loaded together with a rule file, None for files that apply to no file of the workspace."""
    location, text = rule_location(path, context.sources), context.sources.read_text(path)
    loaded = rules_of_tool(location, text, context.sources) if location is not None and isinstance(text, str) else None
    if loaded is None:
        return None
    scope, rules = loaded
    tokens = sum(counter.count("\n".join(entry.text for entry in rule.entries)) for rule in rules)
    return LoadedFiles(scope, len(rules), tokens)


def encode_findings(findings: Sequence[Finding], lines: LineIndex) -> Iterator[Json]:
    """Yield the missing targets; a name of code is only a note, because libraries have names, too."""
    for finding in findings:
        if finding.problem:
            reference = finding.reference
            (line, start), (end_line, end) = (lines.position(at) for at in (reference.start, reference.end))
            yield {
                "range": {
                    "start": {"line": line, "character": start},
                    "end": {"line": end_line, "character": end},
                },
                "kind": reference.kind,
                "severity": "note" if reference.kind == "symbol" else "warning",
                "message": finding.problem,
                **({"suggestion": finding.suggestion} if finding.suggestion else {}),
            }
