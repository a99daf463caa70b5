"""Lookalikes: words with an "@" or "#" that are text although they resemble a mention.

A message often contains code without fences: `@tree = nil` of Ruby, `DECLARE @map TABLE (…)` of SQL, `@test` above a
function, `npm i @scope/name`.  A bare word ("@tree", "@test") next to the punctuation of such code is text, although
there is a kind or a folder with its name.  The line of the word decides, and for an annotation the lines below it.
"@tree:", "@test/" and all mentions with a path, lines or an argument are mentions anywhere, except imported modules.
Whatever is not recognized is a mention, and its outcome shows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.syntax.code_ranges import CodeRanges
from promptls.mentions.syntax.grammar import (
    is_package_like,
    is_path_like,
)
from promptls.model import Mention, MentionOutcome
from promptls.util.cancellation import check_each

MAX_BEFORE, MAX_AFTER = 200, 600
"""Maximum number of characters read before a word in its line, and after it in this line and those below; bounds the time."""

MAX_ANNOTATIONS = 8
"""Maximum number of lines between an annotation and its declaration."""

_LINE_END = re.compile(r"\r\n?|\n")
_ASSIGNMENT = re.compile(
    r"\s*(?:[-+*/%|&^.]|<<|>>|\|\||&&|\?\?|:)?=(?![=>~])"  # @a = 1, @a ||= 1, @a := 1
    r"|(?:\s*,\s*[@$]?\w+)+\s*=(?![=>~])"  # @a, @b = 1, 2
)
_NAMES = re.compile(r"\s*(?:[@$]?\w+\s*,\s*)*\Z")  # before an assignment to several variables
_DECLARE = re.compile(r"\s*(?:declare|int|char|bool|float|my|our|local)\s+\Z", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<![\w@])@(\w+)(?=(?:\s*(?:[-+*/|&]|\|\||&&|<<|:)?=(?![=>~])|\[|&\.|\.\w))")
_AFTER = re.compile(
    rf"{_ASSIGNMENT.pattern}|[\[(]|\+\+|[&?!]\.|\)\s*\{{"  # @a[0], @a(1), @a++, @a&.b
    r"|\s*(?:==|!=|=~|<=|>=|<<)|\s+\{[^{}]*\}"  # @a == 1, @a {string} of JSDoc
)
_BEFORE = re.compile(
    r"[\w)\]\"']\s*(?:[-+*/%|&^]?=|:=|==|!=|=~|<=|>=|<<|\|\|=)\s*\Z"  # x = @a
    r"|[#$]\{\Z|\w(?:[\[{]|\((?:[^()]*,)?\s*)\Z"  # #{@a}, x[@a], f(@a), f(1, @a)
    r"|\b(?:DECLARE|EXEC|EXECUTE|PRINT|SELECT|SET|INTO|FROM|JOIN|WHERE|VALUES|RETURN|OUTPUT)\s+\(?\Z"
    r"|\A\s*(?:EXEC(?:UTE)?|SELECT|INSERT INTO|UPDATE|DELETE FROM|DECLARE|CREATE|ALTER|MERGE|CALL|PRINT)\s"
    r"|\A\s*(?://|/\*|--\s)|[;{})]\s*//"  # a comment
)
_IMPORT = re.compile(
    r"(?:\A\s*(?:import|export)\b.*\bfrom|\A\s*\}?\s*from|\A\s*@?(?:import|use|forward|export|require)|\brequire\s*\(|"
    r"\bimport\s*\(|\b(?:jest\.|vi\.)\w+\s*\()\s*[\"']\Z"
)
_MODULE_KEY = re.compile(r"[\"']\s*:\s*[\"'\[{^0-9~]")
_PACKAGES = re.compile(
    r"(?:\A|[\s(:>$])(?:npm|pnpm|yarn|bun|deno|npx|bunx|jsr)(?:\s+(?:i|install|add|remove|rm|uninstall|un|update|up|upgrade|"
    r"link|exec|x|dlx|view|info|publish|create|init|ls|why|outdated))*(?P<rest>(?:\s+[^\s?!,;]+)*)\s+\Z"
)
_PERSON = re.compile(
    r"\b(?:ask|asked|tell|told|ping|cc|thanks?|thank you|hi|hey|hello|dear|by|notify|invite|credit|assign(?:ed)? to|"
    r"mention|kudos to|according to)[\s,:]*\Z",
    re.IGNORECASE,
)
_ANNOTATIONS = re.compile(r"\s*(?:@[\w.:]+(?:\([^()]*\))?\s*)*")
_COMMENT_LINE = re.compile(r"\s*(?://|/\*|\*|#|--)")
_DECLARATION = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|override|open|pub)\s+)*"
    r"(?:class|struct|enum|interface|trait|protocol|object|module|def|defp|defmodule|defmacro|func|fun|fn|function|sub|"
    r"val|var|let|const|type|record)\s+[\w.$`?!]+\s*(?:[<(\[{=;,]|:(?:\s|\Z)|\Z|(?:extends|implements|where|with|do)\b)"
)
_CODE_ENDS = frozenset("{};")
_PROSE_WORD = re.compile(
    r"\b(?:why|what|how|does|did|please|explain|the|an|of|are|was|can|could|should|would|you|we|our|its|which|show|"
    r"look|check|review|compare|about|not|is|has)\b|[?!]\s|\?\Z|\w\.(?:\s|\Z)",
    re.IGNORECASE,
)
_MAKE_COMMAND = re.compile(r"\t+[-+]?\Z")
_SHELL_ARGUMENTS = re.compile(r"\s-{1,2}\w|\s[|&>]|\$[({@<\w]")


def words_in_code(message: str, mentions: Sequence[Mention], code: CodeRanges) -> dict[int, str]:
    """Return the mentions that are code or the name of a person: offset of the "@" → where it is, for a message.

    Args:
        message: Text of the message.
        mentions: Its mentions.
        code: Its ranges of code, whose variables are variables in the prose, too.
    """
    found: dict[int, str] = {}
    doubtful = [mention for mention in mentions if _is_bare(message, mention) or _is_quoted_path(message, mention)]
    if not doubtful:
        return found
    variables = {f"@{match[1]}" for span in check_each(code.ranges) for match in _VARIABLE.finditer(message, *span)}
    for mention in check_each(doubtful):
        before = _LINE_END.split(message[max(0, mention.start - MAX_BEFORE) : mention.start])[-1]
        after, *below = _LINE_END.split(message[mention.end : mention.end + MAX_AFTER], MAX_ANNOTATIONS)
        if _DECLARE.match(before) or (_NAMES.match(before) and _ASSIGNMENT.match(after)):
            variables.add(mention.text)
        if _is_module(mention, before, after) or (
            _is_bare(message, mention) and _is_code(mention, before, after, below)
        ):
            found[mention.start] = "in code"
        elif mention.kind == "file" and _PERSON.search(before):
            found[mention.start] = "the name of a person"
    found |= {m.start: "the name of a variable" for m in doubtful if m.text in variables and m.start not in found}
    return found


def _is_bare(message: str, mention: Mention) -> bool:
    """Return whether a mention is a single word without a colon, a path, lines or an argument."""
    if mention.lines is not None or mention.root or mention.scope or mention.text[1] in "\"'":
        return False
    if message.startswith(":", mention.end) and not message.startswith("::", mention.end):
        return False
    return not is_path_like(mention.target) if mention.kind == "file" else not mention.target


def _is_quoted_path(message: str, mention: Mention) -> bool:
    """Return whether a path is quoted with its "@", as the modules of an import are."""
    return mention.kind in ("file", "folder") and message[mention.start - 1 : mention.start] in ("'", '"')


def _is_module(mention: Mention, before: str, after: str) -> bool:
    """Return whether a quoted path is the module of an import, or a package with its version."""
    if before[-1:] not in ("'", '"') or after[:1] != before[-1:]:
        return False
    is_key = is_package_like(mention.target) and _MODULE_KEY.match(after) is not None
    return is_key or _IMPORT.search(before) is not None


def _is_code(mention: Mention, before: str, after: str, below: Sequence[str]) -> bool:
    """Return whether a bare word is code, judged by its line and the lines below it."""
    if _AFTER.match(after) or _BEFORE.search(before):
        return True
    if is_package_like(mention.target):
        command = _PACKAGES.search(before)
        return command is not None and not _is_prose(command["rest"])
    if _MAKE_COMMAND.match(before):
        return _SHELL_ARGUMENTS.search(after) is not None
    if _ANNOTATIONS.fullmatch(before) and _annotates(after, below):
        return True
    return after.rstrip()[-1:] in (";", "{") and not _is_prose(before + after)


def _annotates(after: str, below: Sequence[str]) -> bool:
    """Return whether a word is an annotation of a declaration on its line or below it."""
    rest = _ANNOTATIONS.sub("", after, count=1)
    if _is_prose(rest):
        return False
    if _is_declaration(rest):
        return True
    for line in below:
        if not line.strip():
            return False
        if not _COMMENT_LINE.match(line) and not _ANNOTATIONS.fullmatch(line):
            return _is_declaration(line)
    return False


def _is_declaration(line: str) -> bool:
    """Return whether a line declares something, by its keyword or by its end: "void run() {"."""
    return _DECLARATION.match(line) is not None or (line.rstrip()[-1:] in _CODE_ENDS and not _is_prose(line))


def _is_prose(text: str) -> bool:
    return _PROSE_WORD.search(text) is not None


# ---------------------------------------------------------------- outcomes

MAX_WARNINGS = 2
"""Maximum number of words whose reason is a warning; pasted code contains many words of one kind."""
MAX_NAMES = 10
"""Maximum number of other words in a warning."""


def keyword_as_text(mention: Mention, place: str) -> MentionOutcome:
    """Return the outcome of a kind's name that is text; a colon makes it a mention anywhere."""
    return _as_text(mention, place, f"{mention.text}:")


def path_as_text(outcome: MentionOutcome, place: str, context: ResolveContext) -> list[MentionOutcome]:
    """Return the outcome of a path or a word that is text; none if the workspace has nothing with its name."""
    mention = outcome.mention
    if outcome.status == "unresolved":
        reason = place or "not the name of a file"
        return [_as_text(mention, reason, outcome.suggestion)] if outcome.suggestion else []
    suggestion = ""
    if outcome.targets:
        first = outcome.targets[0]
        suggestion = mention_for(context.snapshot, first.path, folder=first.kind == "folder") or ""
    return [_as_text(mention, place, suggestion if suggestion != mention.text else "")]


def text_warnings(texts: Sequence[MentionOutcome]) -> list[str]:
    """Return warnings for a client that shows no diagnostics: the first reasons, and the names of all other words."""
    reasons = {outcome.mention.text: outcome.reason for outcome in texts}
    others = list(reasons)[MAX_WARNINGS:]
    warnings = [reasons[name] for name in list(reasons)[:MAX_WARNINGS]]
    if others:
        more = f" and {len(others) - MAX_NAMES} more" if len(others) > MAX_NAMES else ""
        warnings.append(f"These words are text, too: {', '.join(others[:MAX_NAMES])}{more}.")
    return warnings


def _as_text(mention: Mention, place: str, suggestion: str) -> MentionOutcome:
    advice = f"Write {suggestion}" if suggestion else "Write it in a sentence"
    reason = f"{mention.text} is {place}, so it is text. {advice} to mention it."
    return MentionOutcome(mention, "text", reason=reason, suggestion=suggestion)
