"""Names in a question, checked against the workspace, and how much of it they span."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from promptls.prompt.intent.question_type import Asking
from promptls.prompt.intent.tokenize import READ, Reading
from promptls.retrieval.query import Query, looks_like_code

ENTITIES = 20
"""Names that are told."""

CANDIDATES = 400
"""Words that are looked up, most specific first."""

SCOPES = ("symbol", "file", "several", "project")

_PROJECT = re.compile(
    r"\b(?:project|codebase|code base|repo(?:sitory)?|architecture|overview|everywhere|entire|whole (?:app|application|system|thing)"
    r"|all (?:the )?(?:files|modules|places|services|packages|usages)|across (?:the|all)|big picture|app(?:lication)? structure"
    r"|projekt|proyecto|projet|проект\w*|architektur|arquitectura)\b|项目|架构|プロジェクト|全体|프로젝트",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\b(?:this|current|the open|diese[rs]?|este|ce) (?:file|module|script|page|datei|archivo|fichier)\b|这个文件|このファイル",
    re.I,
)
_SYMBOL = re.compile(
    r"\b(?:this|the selected|current) (?:function|method|class|type|struct|hook|component|test|line)\b|这个函数|この関数",
    re.I,
)
_ENDINGS = (
    "py pyi js mjs cjs ts tsx jsx vue svelte go rs java kt kts c h cc cpp hpp cs rb php swift scala lua sh ex exs hs ml sql md rst txt adoc "
    "toml yaml yml json jsonc ini cfg conf env xml html css scss less lock gradle tf proto el vim ipynb dart r jl zig nix graphql mod sum csv log"
).replace(" ", "|")
# A run of letters is tried from its beginning only: a long one must not cost its square.
_PATH = re.compile(rf"(?<![\w.-])(?:\w[\w.-]*/)+[\w.-]+|(?<![\w.-])[\w.-]*\w\.(?:{_ENDINGS})\b(?![\w(])")
_ABBREVIATION = re.compile(
    r"^(?:e\.g|i\.e|etc|vs|node\.js|next\.js|vue\.js|express\.js|react\.js|asp\.net|\d.*|[\w-]+\.(?:com|org|io|net|dev))\.?$",
    re.I,
)
_EITHER = re.compile(r"^\w{1,12}/\w{1,12}$")  # "and/or", "ci/cd": words, not a path


class Entity(Struct, frozen=True):
    """A name in a question."""

    name: str  # as written
    verified: bool  # whether the workspace has it


def entities_of(query: Query, known: Callable[[str], bool]) -> tuple[Entity, ...]:
    """Names written as code, and plain words that are names of the workspace."""
    out: dict[str, Entity] = {}
    text = query.text[:READ]
    inside = " ".join(_PATH.findall(text))
    for name in query.names[:CANDIDATES]:
        if name in inside or any(name in _pieces(e.name) for e in out.values()):
            continue
        if len(name) <= 6 and text.lstrip().startswith(name) and name.istitle():
            continue  # a capital because a sentence begins
        verified = known(name) or any(known(part) for part in _pieces(name)[-1:])
        if (verified or _written(name, text)) and name.lower() not in out:
            out[name.lower()] = Entity(name, verified)
        if len(out) == ENTITIES:
            break
    return tuple(out.values())


def _pieces(name: str) -> list[str]:
    pieces = re.split(r"\.|::|->", name)
    return pieces if len(pieces) > 1 else []


def _written(name: str, text: str) -> bool:
    """Whether a name stands in a text and is written as code is: snake_case, in back quotes, called."""
    shown = looks_like_code(name) and not _abbreviation(name)
    joined = ("." in name or "::" in name or "->" in name) and not _ABBREVIATION.match(name)
    return name in text and (shown or joined or f"`{name}" in text or f"{name}(" in text)


def _abbreviation(name: str) -> bool:
    """Capitals, plurals of them and versions, which are words of prose: "APIs", "OAuth2", "k8s", "e2e"."""
    return bool(
        re.fullmatch(
            r"[A-Z]{2,}s?\d*|(?:OAuth|[kK]8s|[eE]2[eE]|i18n|l10n|a11y|[A-Z]?[a-z]*\d+|GraphQL|PostgreSQL|MySQL|JavaScript|TypeScript|GitHub|GitLab|DevOps|MongoDB|NoSQL|YouTube|LinkedIn|ChatGPT|iOS|macOS|VSCode|IntelliJ)\d?",
            name,
        )
    )


def paths(reading: Reading) -> tuple[str, ...]:
    """Paths and file names in a question."""
    found = _PATH.findall(reading.text)
    return tuple(dict.fromkeys(p for p in found if not _ABBREVIATION.match(p) and not _EITHER.match(p)))


def scope(reading: Reading, named: Sequence[Entity], files: Sequence[str], asking: Asking) -> str:
    """How much a question spans: symbol, file, several, project."""
    symbols = [e for e in named if e.verified] or list(named)
    if len(files) + len(symbols) > 1 and not (len(files) == 1 and len(symbols) == 1):
        return "several"
    if symbols or _SYMBOL.search(reading.prose):
        return "symbol"
    if files or _FILE.search(reading.prose):
        return "file"
    if _PROJECT.search(reading.prose) or "architectural" in asking.types:
        return "project"
    return "several"
