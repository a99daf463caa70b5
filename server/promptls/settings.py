"""What a user can set: one frozen value, parsed from JSON with every problem named and nothing lost.

A setting that is wrong keeps its default and becomes a `Problem`.  Settings that could send data
somewhere, load a model or move the cache count only when they come from the user, never when a workspace
brings them: `TRUSTED` lists them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import platformdirs
from msgspec import Meta, Struct

from promptls.model import Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BUNDLED = "bundled"
"""The embedding model that comes with the package."""

MAX_TOKENS = 100_000_000
"""Of a budget: more than any model reads."""

Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]


class IndexSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is indexed, and how."""

    max_file_size: Annotated[Positive, Meta(description="Bytes; a larger file is known by name only.")] = 1_000_000
    max_line_length: Annotated[
        Positive, Meta(description="Characters; a file with a longer line counts as minified.")
    ] = 10_000
    include: Annotated[
        tuple[str, ...],
        Meta(description="Patterns as in an ignore file; with any, only files that they pick are listed."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Meta(description="Patterns as in an ignore file; files that they pick are not listed.")
    ] = ()
    include_hidden: Annotated[bool, Meta(description="Whether names that begin with a dot are listed.")] = True
    workers: Annotated[int, Meta(ge=0, description="Processes for bulk indexing; 0: one a core, at most four.")] = 0
    grammars: Annotated[
        tuple[Literal["pack", "legacy"], ...],
        Meta(description='Order of the grammar sources, "pack" and "legacy" (tree-sitter-languages).'),
    ] = ("pack", "legacy")


class EmbeddingSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The embedding model."""

    model: Annotated[
        str,
        Meta(
            description='"bundled", a folder with model.onnx and tokenizer.json, or a fastembed model on this machine.'
        ),
    ] = BUNDLED
    allow_download: Annotated[
        bool, Meta(description="Let fastembed fetch the model named above; nothing else ever uses the network.")
    ] = False


class BudgetSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The budget of requests that name none."""

    tokens: Annotated[int, Meta(ge=0, le=MAX_TOKENS, description="Tokens of the whole prompt; 0: by the model.")] = 0
    model: Annotated[str, Meta(description="Model whose budget is used; empty: the default budget.")] = ""
    counter: Annotated[
        str, Meta(description='How tokens are counted: "auto", "estimate", "chars4" or the name of an exact counter.')
    ] = "auto"
    tokenizer: Annotated[
        str, Meta(description="A tokenizer.json or rank file on this machine that counts exactly; empty: none.")
    ] = ""


class RetrievalSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is gathered beside what was mentioned."""

    profile: Annotated[
        str, Meta(description="Constants and stage choices of the pipeline, when a request does not say.")
    ] = "default"
    threshold: Annotated[
        Share | None, Meta(description="Regions with a lower score are left out; null: as the profile has it.")
    ] = None
    variant: Annotated[
        str, Meta(description="How the model is told to use the context, when neither request nor profile says.")
    ] = ""


class SectionSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The parts of a prompt that are no code."""

    instructions: Annotated[bool, Meta(description="Short advice to the model for the type of question.")] = True
    architecture: Annotated[bool, Meta(description="Facts of the project, when the question is about it.")] = True
    memory: Annotated[bool, Meta(description="What you have told promptls to remember, when it belongs here.")] = True
    rules: Annotated[bool, Meta(description="AGENTS.md, CLAUDE.md and the like, for the files in the prompt.")] = True
    team: Annotated[bool, Meta(description="Who knows the code, from CODEOWNERS and the history of git.")] = False
    rules_tokens: Annotated[int, Meta(ge=0, description="At most so many tokens of rules.")] = 2000


class DocumentSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Documents in which mentions are looked at while they are written."""

    languages: Annotated[
        tuple[str, ...],
        Meta(
            description='Languages beside "promptls" and *.prompt.md whose documents are prompts: "markdown", "git-commit".'
        ),
    ] = ()


class GraphSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The knowledge graph."""

    layers: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Layer → path segments that mean it; they come before the built-in layers."),
    ] = {}


class SecretSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Keys, tokens and passwords."""

    allow_files: Annotated[
        bool, Meta(description="Let a mention show a file such as .env; its values stay redacted.")
    ] = False


class LanguageModelSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A language model that helps to understand questions; off by default."""

    use: Annotated[
        Literal["off", "editor", "endpoint"],
        Meta(description='"off", "editor" (its own model, if it offers one) or "endpoint" (the server below).'),
    ] = "off"
    endpoint: Annotated[
        str, Meta(description='Address of an OpenAI-compatible server: "http://localhost:11434/v1" is Ollama\'s.')
    ] = ""
    model: Annotated[str, Meta(description="Name of the model, as the endpoint calls it.")] = ""
    key: Annotated[str, Meta(description="The key; better kept in the environment.")] = ""
    key_env: Annotated[str, Meta(description="Environment variable that holds the key.")] = "PROMPTLS_API_KEY"
    timeout_s: Annotated[
        float, Meta(ge=0.1, le=120, description="Seconds for everything, the retry included; then it goes on without.")
    ] = 5.0
    proxy: Annotated[str, Meta(description="Proxy for the endpoint; the environment's proxies are not used.")] = ""
    send_code: Annotated[bool, Meta(description="Send code that stands in the question along with it.")] = False

    def __repr__(self) -> str:
        shown = {f: getattr(self, f) for f in self.__struct_fields__ if f not in ("key", "proxy")}
        return f"LanguageModelSettings({', '.join(f'{f}={value!r}' for f, value in shown.items())}, …)"

    __str__ = __repr__


class CacheSettings(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Derived state on disk."""

    folder: Annotated[
        str,
        Meta(
            description="Folder of the index; what no server has used for 30 days is removed; empty: the user's cache folder."
        ),
    ] = ""


class Settings(Struct, frozen=True, rename="camel"):
    """Everything a user can set."""

    index: IndexSettings = IndexSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    budget: BudgetSettings = BudgetSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    sections: SectionSettings = SectionSettings()
    documents: DocumentSettings = DocumentSettings()
    graph: GraphSettings = GraphSettings()
    secrets: SecretSettings = SecretSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()
    cache: CacheSettings = CacheSettings()


TRUSTED = ("embedding", "cache", "secrets", "languageModel", "budget.tokenizer")
"""Sections and settings that only the user's own settings can change."""


def parse(data: Any, base: Settings | None = None, trusted: bool = False) -> tuple[Settings, list[Problem]]:
    """Settings from JSON-like data over `base`; what is wrong keeps its value and is reported."""
    settings, problems = base or Settings(), []
    if data is None:
        return settings, []
    if not isinstance(data, Mapping):
        return settings, [Problem(f"The settings are a {type(data).__name__}, not an object; they are ignored.")]
    fields = sections()
    for section, values in data.items():
        if section not in fields:
            valid = ", ".join(sorted(fields))
            problems.append(Problem(f"There is no settings section {section!r}; the sections are {valid}."))
            continue
        attribute, kind = fields[section]
        current = getattr(settings, attribute)
        for name, value in values.items() if isinstance(values, Mapping) else [("", values)]:
            full = f"{section}.{name}" if name else section
            if not trusted and not {section, full}.isdisjoint(TRUSTED):
                if value:
                    problems.append(
                        Problem(f"The setting {full} counts only in your own settings, not in a workspace's.")
                    )
                continue
            try:
                merged = {**msgspec.to_builtins(current), name: value} if name else values
                current = msgspec.convert(merged, kind)
            except (msgspec.ValidationError, UnicodeEncodeError) as error:  # half a character in a name
                problems.append(Problem(f"The setting {full} is ignored: {_plainly(error)}."))
        settings = msgspec.structs.replace(settings, **{attribute: current})
    return settings, problems


def sections() -> dict[str, tuple[str, Any]]:
    """Name on the wire → (attribute, type) of each section."""
    hints = get_type_hints(Settings)
    return {f.encode_name: (f.name, hints[f.name]) for f in msgspec.structs.fields(Settings)}


def _plainly(error: Exception) -> str:
    return str(error).split(" - at ")[0][:1].lower() + str(error).split(" - at ")[0][1:]


def user_settings() -> tuple[Settings, list[Problem]]:
    """The settings of the user's own configuration file, if there is one."""
    file = config_file()
    try:
        return parse(tomllib.loads(file.read_text("utf-8-sig")), trusted=True)
    except FileNotFoundError:
        return Settings(), []
    except UnicodeDecodeError:
        return Settings(), [
            Problem(f"The settings file {file} is not in UTF-8; defaults are used until it is saved so.")
        ]
    except (OSError, tomllib.TOMLDecodeError) as error:
        return Settings(), [Problem(f"The settings file {file} cannot be read ({error}); defaults are used.")]


def config_file() -> Path:
    """Where the user's own settings live."""
    return Path(platformdirs.user_config_dir("promptls", appauthor=False)) / "config.toml"


def cache_folder(settings: Settings) -> Path:
    """Where derived state lives: the setting, else $PROMPTLS_CACHE, else the user's cache folder."""
    chosen = settings.cache.folder or os.environ.get("PROMPTLS_CACHE") or platformdirs.user_cache_dir("promptls", False)
    return Path(chosen).expanduser().absolute()


def log_file() -> Path:
    """Where the log is written."""
    return Path(platformdirs.user_log_dir("promptls", appauthor=False)) / "promptls.log"
