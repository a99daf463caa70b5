"""Detection of the intent of a message, of the entities in it, and of its scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from promptls.languages import FILE_EXTENSIONS
from promptls.prompt.intent import GENERAL, LIKELY_CONFIDENCE, QUESTION_TYPES, Category, Entity, Intent
from promptls.prompt.intent.categories import find_categories
from promptls.prompt.intent.lexicon import MAX_QUESTION_CHARACTERS, TokenizedQuestion, tokenize_question
from promptls.prompt.intent.negation import Exclusion, find_exclusion
from promptls.prompt.intent.question_type import QuestionType, classify_question
from promptls.prompt.intent.relevance import assess_relevance
from promptls.retrieval.query import Query, exclude_words, is_identifier_style, parse_query


def _no_names(name: str) -> bool:
    return False


def detect_intent(
    message: str,
    question: str,
    is_defined: Callable[[str], bool] = _no_names,
    is_used_word: Callable[[str], bool] = _no_names,
) -> Intent:
    """Detect the intent of a message.

    Args:
        message: The message.
        question: The message without its file mentions.
        is_defined: Whether the workspace defines a name.
        is_used_word: Whether the workspace uses a word.
    """
    tokenized = tokenize_question(question)
    exclusion = find_exclusion(tokenized)
    query = exclude_words(parse_query(question), exclusion.words)
    categories = find_categories(tokenized, exclusion, is_defined)
    question_type = classify_question(tokenized, exclusion)
    if query.translation is not None:  # the lists of words cover more English words than words of other languages
        english = tokenize_question(query.translation.gloss)
        categories = categories or find_categories(english, Exclusion(), is_defined)
        if question_type.action == "other" or not question_type.types:
            question_type = classify_question(english, Exclusion())
    entities, files = find_entities(query, is_defined), find_paths(tokenized)
    name_evidence = (any(not e.verified for e in entities), bool(files), any(e.verified for e in entities))
    has_mentions = len(question.strip()) < len(message.strip())
    relevance = assess_relevance(tokenized, categories, question_type, name_evidence, has_mentions, is_used_word)
    action, types = question_type.action, _add_architectural(question_type.types, categories)
    if not relevance.about_codebase:  # nothing to do in the workspace, but perhaps something to explain
        action = "explain" if relevance.general_knowledge else "other"
        types = ("explanation",) if relevance.general_knowledge else ()
    if relevance.about_codebase or relevance.general_knowledge:
        categories = _ensure_likely(categories, relevance.about_codebase)
    else:
        categories = ()
    return Intent(
        about_codebase=relevance.about_codebase,
        categories=categories,
        types=types,
        action=action,
        excluded_words=exclusion.words,
        query=query,
        confidence=relevance.confidence,
        confidence_label=relevance.label,
        scope=question_scope(tokenized, entities, files, question_type),
        entities=entities,
        has_mentions=has_mentions,
        evidence=relevance.evidence,
    )


def _add_architectural(types: tuple[str, ...], categories: tuple[Category, ...]) -> tuple[str, ...]:
    """Add the type "architectural" if the category "architecture" is likely by a strong keyword."""
    if any(c.name == "architecture" and c.has_strong_match and c.is_likely for c in categories):
        return tuple(t for t in QUESTION_TYPES if t in types or t == "architectural")
    return types


def _ensure_likely(categories: tuple[Category, ...], about_codebase: bool) -> tuple[Category, ...]:
    """Return categories of which one is likely, if the question is about the code.

    If none is likely, the one with the highest confidence becomes likely; on a tie, `general` does.  `general` is never
    next to another likely category.
    """
    specific = [c for c in categories if c.name != GENERAL]
    if not about_codebase or any(c.is_likely for c in specific):
        return tuple(specific)
    if specific and (len(specific) == 1 or specific[0].confidence > specific[1].confidence):
        return (replace(specific[0], confidence=LIKELY_CONFIDENCE), *specific[1:])
    general = next((c for c in categories if c.name == GENERAL), Category(GENERAL, LIKELY_CONFIDENCE, ()))
    confidence = max(LIKELY_CONFIDENCE, general.confidence)
    return (
        Category(GENERAL, confidence, general.matched_words, general.matches, general.has_strong_match),
        *specific,
    )


# ---------------------------------------------------------------- entities and scope


MAX_ENTITIES = 20
"""Maximum number of entities of a question."""

MAX_NAMES = 400
"""Maximum number of words that are verified, most specific first."""

_PROJECT_SCOPE = re.compile(
    r"\b(?:project|codebase|code base|repo(?:sitory)?|architecture|overview|everywhere|entire|whole (?:app|application|system|thing)"
    r"|all (?:the )?(?:files|modules|places|services|packages|usages)|across (?:the|all)|big picture|app(?:lication)? structure"
    r"|projekt|proyecto|projet|проект\w*|architektur|arquitectura)\b|项目|架构|プロジェクト|全体|프로젝트",
    re.IGNORECASE,
)
_FILE_SCOPE = re.compile(
    r"\b(?:this|current|the open|diese[rs]?|este|ce) (?:file|module|script|page|datei|archivo|fichier)\b|这个文件|このファイル",
    re.I,
)
_SYMBOL_SCOPE = re.compile(
    r"\b(?:this|the selected|current) (?:function|method|class|type|struct|hook|component|test|line)\b|这个函数|この関数",
    re.I,
)
_EXTENSIONS = "|".join(map(re.escape, sorted(FILE_EXTENSIONS)))
# The look-behind starts a match at the beginning of a run of letters only, which keeps the time linear.
_PATH = re.compile(rf"(?<![\w.-])(?:\w[\w.-]*/)+[\w.-]+|(?<![\w.-])[\w.-]*\w\.(?:{_EXTENSIONS})\b(?![\w(])")
_ABBREVIATION = re.compile(
    r"^(?:e\.g|i\.e|etc|vs|node\.js|next\.js|vue\.js|express\.js|react\.js|asp\.net|\d.*|[\w-]+\.(?:com|org|io|net|dev))\.?$",
    re.I,
)
_ALTERNATIVES = re.compile(r"^\w{1,12}/\w{1,12}$")  # "and/or", "ci/cd": words, not a path


def find_entities(query: Query, is_defined: Callable[[str], bool]) -> tuple[Entity, ...]:
    """Return names in the style of code, and plain words that the workspace defines."""
    out: dict[str, Entity] = {}
    text = query.text[:MAX_QUESTION_CHARACTERS]
    paths = " ".join(_PATH.findall(text))
    for name in query.names[:MAX_NAMES]:
        if name in paths or any(name in _name_parts(e.name) for e in out.values()):
            continue
        if len(name) <= 6 and text.lstrip().startswith(name) and name.istitle():
            continue  # capitalized as the first word of a sentence
        verified = is_defined(name) or any(is_defined(part) for part in _name_parts(name)[-1:])
        if (verified or _is_code_style(name, text)) and name.lower() not in out:
            out[name.lower()] = Entity(name, verified)
        if len(out) == MAX_ENTITIES:
            break
    return tuple(out.values())


def _name_parts(name: str) -> list[str]:
    parts = re.split(r"\.|::|->", name)
    return parts if len(parts) > 1 else []


def _is_code_style(name: str, text: str) -> bool:
    """Return whether a name occurs in a text in the style of code: snake_case, in backticks, called."""
    styled = is_identifier_style(name) and not _is_abbreviation(name)
    qualified = ("." in name or "::" in name or "->" in name) and not _ABBREVIATION.match(name)
    return name in text and (styled or qualified or f"`{name}" in text or f"{name}(" in text)


def _is_abbreviation(name: str) -> bool:
    """Return whether a name is an abbreviation or a product, which is a word of prose: "APIs", "OAuth2", "k8s"."""
    return bool(
        re.fullmatch(
            r"[A-Z]{2,}s?\d*|(?:OAuth|[kK]8s|[eE]2[eE]|i18n|l10n|a11y|[A-Z]?[a-z]*\d+|GraphQL|PostgreSQL|MySQL|JavaScript|TypeScript|GitHub|GitLab|DevOps|MongoDB|NoSQL|YouTube|LinkedIn|ChatGPT|iOS|macOS|VSCode|IntelliJ)\d?",
            name,
        )
    )


def find_paths(question: TokenizedQuestion) -> tuple[str, ...]:
    """Return the paths and file names in a question."""
    found = _PATH.findall(question.text)
    return tuple(dict.fromkeys(p for p in found if not _ABBREVIATION.match(p) and not _ALTERNATIVES.match(p)))


def question_scope(
    question: TokenizedQuestion, entities: Sequence[Entity], files: Sequence[str], question_type: QuestionType
) -> str:
    """Return the scope of a question: symbol, file, several or project."""
    symbols = [e for e in entities if e.verified] or list(entities)
    if len(files) + len(symbols) > 1 and not (len(files) == 1 and len(symbols) == 1):
        return "several"
    if symbols or _SYMBOL_SCOPE.search(question.prose):
        return "symbol"
    if files or _FILE_SCOPE.search(question.prose):
        return "file"
    if _PROJECT_SCOPE.search(question.prose) or "architectural" in question_type.types:
        return "project"
    return "several"
