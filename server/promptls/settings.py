"""Settings: their types, defaults and descriptions, and parsing with an error message for every invalid value.

An invalid setting keeps its previous value and is reported as a `Problem`. Settings that could send data to a server,
load a model or move the cache are accepted from the user only, never from a workspace (see `TRUSTED`). Editors and the
README show the descriptions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import platformdirs
from msgspec import Meta, Struct

from promptls.model import Problem
from promptls.util.decode import convert, tomllib

BUNDLED = "bundled"
"""Name of the embedding model that is part of the package."""

MAX_TOKENS = 100_000_000
"""Upper limit of a budget in tokens; more than the context window of any model."""

Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]


TOOL_IGNORE_FILES = tuple(
    f".{name}"
    for name in (
        "aiexclude aiderignore aiignore augmentignore claudeignore clineignore codeiumignore continueignore "
        "copilotignore cursorignore cursorindexingignore geminiignore kilocodeignore rooignore tabnineignore "
        "windsurfignore"
    ).split()
)
"""Ignore files of other tools that give code to language models."""


class IndexSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Files and processes of the index."""

    max_file_size: Annotated[
        Positive,
        Meta(
            description="Maximum file size in bytes; larger files are indexed by name only. Of a notebook, the text of "
            "its cells counts, and the file may have 50 times this size."
        ),
    ] = 1_000_000
    max_line_length: Annotated[
        Positive,
        Meta(
            description="Maximum line length of prose in characters; a file with a longer line and hardly any other "
            "text is treated as minified."
        ),
    ] = 10_000
    include: Annotated[
        tuple[str, ...],
        Meta(description="Patterns in .gitignore syntax; if set, only matching files are indexed."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Meta(description="Patterns in .gitignore syntax; matching files are not indexed.")
    ] = ()
    include_hidden: Annotated[bool, Meta(description="Index files and folders whose names start with a dot.")] = True
    ignore_files: Annotated[
        tuple[str, ...],
        Meta(
            description="Names of ignore files in .gitignore syntax that are read beside .gitignore and .promptlsignore: "
            "what a team keeps from other tools with a language model is not indexed either."
        ),
    ] = TOOL_IGNORE_FILES
    workers: Annotated[
        int, Meta(ge=0, description="Number of indexing processes; 0: one per CPU core, at most four.")
    ] = 0
    grammars: Annotated[
        tuple[Literal["pack", "legacy"], ...],
        Meta(
            description='Order of the grammar sources: "pack" (tree-sitter-language-pack), "legacy" (tree-sitter-languages).'
        ),
    ] = ("pack", "legacy")


class EmbeddingSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The embedding model."""

    model: Annotated[
        str,
        Meta(
            description='"bundled", a folder with model.onnx and tokenizer.json, or the name of an installed fastembed model.'
        ),
    ] = BUNDLED
    allow_download: Annotated[
        bool, Meta(description="Allow fastembed to download the model; promptls downloads nothing else.")
    ] = False


class BudgetSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The token budget of requests that do not set one."""

    tokens: Annotated[
        int, Meta(ge=0, le=MAX_TOKENS, description="Maximum number of tokens of a prompt; 0: the budget of the model.")
    ] = 0
    model: Annotated[str, Meta(description="Model whose token budget is used; empty: the default budget.")] = ""
    counter: Annotated[
        str, Meta(description='Token counter: "auto", "estimate", "chars4" or the name of an exact counter.')
    ] = "auto"
    tokenizer: Annotated[
        str, Meta(description="Path of a tokenizer.json or tiktoken rank file for exact counts; empty: none.")
    ] = ""
    fill: Annotated[
        Literal["relevant", "full"],
        Meta(description='"relevant": leave a part of a large budget free; "full": fill it.'),
    ] = "relevant"


class RetrievalSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Retrieval of context that the message does not mention."""

    profile: Annotated[str, Meta(description="Profile of the pipeline for requests that do not set one.")] = "default"
    threshold: Annotated[
        Share | None, Meta(description="Minimum score of retrieved items, 0 to 1; null: the value of the profile.")
    ] = None
    variant: Annotated[
        str,
        Meta(
            description="Instruction style for requests that do not set one: baseline, strict, citation or anti_prior."
        ),
    ] = ""
    selection: Annotated[
        Literal["auto", "model", "ranker"],
        Meta(
            description='Who chooses the retrieved code: "ranker", "model" (the language model of languageModel), or "auto": '
            "the model where one is configured."
        ),
    ] = "auto"


class SectionSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Prompt sections other than code, and the form of code."""

    instructions: Annotated[bool, Meta(description="Include short instructions for the type of question.")] = True
    architecture: Annotated[bool, Meta(description="Include facts about the project if the question is about it.")] = (
        True
    )
    memory: Annotated[bool, Meta(description="Include relevant memory entries.")] = True
    rules: Annotated[
        bool, Meta(description="Include rules (AGENTS.md, CLAUDE.md, …) that apply to the files in the prompt.")
    ] = True
    team: Annotated[
        bool, Meta(description="Include code owners and main authors, from CODEOWNERS and the git history.")
    ] = False
    rules_tokens: Annotated[int, Meta(ge=0, description="Maximum number of tokens for rules.")] = 2000
    line_numbers: Annotated[
        bool, Meta(description="Number the lines of code; the header of each file names its lines in any case.")
    ] = False


class DocumentSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Documents with language features for mentions."""

    languages: Annotated[
        tuple[str, ...],
        Meta(description='Language IDs of additional prompt documents, such as "markdown" or "git-commit".'),
    ] = ()


class GraphSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The knowledge graph."""

    layers: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Additional layers: name → path segments. They take precedence over the built-in layers."),
    ] = {}


class SecretSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Files with keys, tokens and passwords."""

    allow_files: Annotated[
        bool, Meta(description="Allow mentions of files such as .env; their values are redacted.")
    ] = False


class LanguageModelSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A language model that chooses the code of a prompt from a list of regions; off by default."""

    use: Annotated[
        Literal["off", "editor", "endpoint"],
        Meta(description='"off", "editor" (the editor\'s language model) or "endpoint" (the server below).'),
    ] = "off"
    endpoint: Annotated[
        str,
        Meta(description='Base URL of an OpenAI-compatible server, such as "http://localhost:11434/v1" for Ollama.'),
    ] = ""
    model: Annotated[str, Meta(description="Name of the model at the endpoint.")] = ""
    key: Annotated[str, Meta(description="API key; prefer the environment variable.")] = ""
    key_env: Annotated[str, Meta(description="Name of the environment variable with the API key.")] = "PROMPTLS_API_KEY"
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=120,
            description="Total timeout in seconds for choosing code; then the ranking chooses.",
        ),
    ] = 8.0
    proxy: Annotated[
        str, Meta(description="Proxy URL for the endpoint; proxy variables of the environment are ignored.")
    ] = ""
    send_code: Annotated[bool, Meta(description="Include code that is part of the question.")] = False

    def __repr__(self) -> str:
        shown = {f: getattr(self, f) for f in self.__struct_fields__ if f not in ("key", "proxy")}
        return f"LanguageModelSettings({', '.join(f'{f}={value!r}' for f, value in shown.items())}, …)"

    __str__ = __repr__


class TeamSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The index of many repositories on shared storage."""

    index: Annotated[str, Meta(description="Address of the team index: s3://, or a folder; empty: none.")] = ""
    storage: Annotated[
        dict[str, str], Meta(description="Options of the storage without secrets, such as region and endpoint.")
    ] = {}
    storage_env: Annotated[
        dict[str, str],
        Meta(description="Secret options of the storage: option → name of the environment variable with its value."),
    ] = {}
    deadline_ms: Annotated[
        int,
        Meta(
            ge=10, le=60_000, description="Milliseconds after which a prompt is built without code of the team index."
        ),
    ] = 300
    share: Annotated[
        Share, Meta(description="Share of the budget for code of the team index, if it is certainly needed.")
    ] = 0.6


class CacheSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Location of the index on disk."""

    folder: Annotated[
        str,
        Meta(description="Folder of the index; empty: the user cache folder. Indexes unused for 30 days are removed."),
    ] = ""


class Settings(Struct, frozen=True, rename="camel"):
    """Settings of all sections."""

    index: IndexSettings = IndexSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    budget: BudgetSettings = BudgetSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    sections: SectionSettings = SectionSettings()
    documents: DocumentSettings = DocumentSettings()
    graph: GraphSettings = GraphSettings()
    secrets: SecretSettings = SecretSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()
    team: TeamSettings = TeamSettings()
    cache: CacheSettings = CacheSettings()


TRUSTED = (
    *("embedding", "cache", "secrets", "languageModel", "team", "budget.tokenizer"),
    "index.ignoreFiles",  # a workspace must not read files that its team has kept from language models
)
"""Sections and settings that are accepted from the user only, not from a workspace."""


def parse(data: Any, base: Settings | None = None, trusted: bool = False) -> tuple[Settings, list[Problem]]:
    """Merge JSON-like data into settings; invalid values keep their previous value and are reported.

    `TRUSTED` settings are rejected unless the data is `trusted`, because it comes from the user.
    """
    settings, problems = base or Settings(), []
    if data is None:
        return settings, []
    if not isinstance(data, Mapping):
        return settings, [Problem(f"The settings are ignored: expected `object`, got `{type(data).__name__}`.")]
    fields = sections()
    for section, values in data.items():
        if section not in fields:
            valid = ", ".join(sorted(fields))
            problems.append(Problem(f"Unknown settings section {section!r}. Valid sections: {valid}."))
            continue
        attribute, kind = fields[section]
        current = getattr(settings, attribute)
        for name, value in values.items() if isinstance(values, Mapping) else [("", values)]:
            full = f"{section}.{name}" if name else section
            if not trusted and not {section, full}.isdisjoint(TRUSTED):
                if value:
                    problems.append(
                        Problem(
                            f"The setting {full} is ignored: a workspace cannot set it, only the user settings can."
                        )
                    )
                continue
            try:
                merged = {**msgspec.to_builtins(current), name: value} if name else values
                current = convert(merged, kind)
            except (msgspec.ValidationError, UnicodeEncodeError) as error:  # a lone surrogate in a name
                problems.append(Problem(f"The setting {full} is ignored: {_reason(error)}."))
        settings = msgspec.structs.replace(settings, **{attribute: current})
    return settings, problems


def sections() -> dict[str, tuple[str, Any]]:
    """Return attribute and type of each section by its JSON name."""
    hints = get_type_hints(Settings)
    return {f.encode_name: (f.name, hints[f.name]) for f in msgspec.structs.fields(Settings)}


def _reason(error: Exception) -> str:
    reason, _, _ = str(error).partition(" - at ")
    return reason[:1].lower() + reason[1:]


def user_settings() -> tuple[Settings, list[Problem]]:
    """Read the user's configuration file; a missing file means defaults."""
    file = config_file()
    try:
        return parse(tomllib.loads(file.read_text("utf-8-sig")), trusted=True)
    except FileNotFoundError:
        return Settings(), []
    except UnicodeDecodeError:
        return Settings(), [Problem(f"The settings file {file} is not UTF-8; using defaults. Save it as UTF-8.")]
    except (OSError, tomllib.TOMLDecodeError) as error:
        return Settings(), [Problem(f"Cannot read the settings file {file} ({error}); using defaults.")]


def config_file() -> Path:
    """Return the path of the user's configuration file."""
    return Path(platformdirs.user_config_dir("promptls", appauthor=False)) / "config.toml"


def cache_directory(settings: Settings) -> Path:
    """Return the cache directory: the setting, else `$PROMPTLS_CACHE`, else the user cache directory."""
    chosen = settings.cache.folder or os.environ.get("PROMPTLS_CACHE") or platformdirs.user_cache_dir("promptls", False)
    return Path(chosen).expanduser().absolute()


def log_file() -> Path:
    """Return the path of the log file."""
    return Path(platformdirs.user_log_dir("promptls", appauthor=False)) / "promptls.log"


_IGNORE_ALL = "# Created by promptls.\n*\n"


def make_own_folder(folder: Path) -> None:
    """Create a folder of promptls, with a `.gitignore` that keeps its files out of indexes and repositories.

    Only the user can read it: an index contains what was in the files. A folder of another name that already has other
    files stays as it is, because they may belong to the user.

    Raises:
        OSError: The folder cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignore_file = folder / ".gitignore"
    is_marked = ignore_file.is_file() and ignore_file.read_bytes() == _IGNORE_ALL.encode()
    if is_marked or "promptls" in folder.parts[-2:] or not any(folder.iterdir()):
        with suppress(OSError):  # the folder may be read-only, or belong to another user
            folder.chmod(0o700)
            if not ignore_file.exists():
                ignore_file.write_text(_IGNORE_ALL, encoding="utf-8")
