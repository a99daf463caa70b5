r"""Words with an "@" that are code, though no fence marks them: variables, annotations, package names.

A message often contains code without fences: `@tree = nil` of Ruby, `DECLARE @map TABLE (…)` of SQL, `@test` above a
function, `npm i @scope/name`.  A bare word ("@tree", "@test") in such surroundings is text, although there is a kind or
a folder with its name.  Only the line of the word and the lines around it are read.  "@tree:", "@test/" and all
mentions with a path, lines or an argument are mentions in any surroundings, except imported modules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.syntax.code_ranges import CodeRanges
from promptls.mentions.syntax.grammar import (
    Keywords,
    format_argument_mention,
    is_explicit_reference,
    is_package_like,
    is_path_like,
    parse,
)
from promptls.model import Mention, MentionOutcome
from promptls.util.cancellation import check_each

MAX_LINE = 200
"""Maximum number of characters read on each side of a word; a longer line is data."""

MAX_LINES = 100
"""Maximum number of blank lines between a command of a makefile and the line above it."""

MAX_ANNOTATIONS = 8
"""Maximum number of lines between an annotation and its declaration."""

_ASSIGNMENT = re.compile(
    r"\s*(?:[-+*/%|&^.]|<<|>>|\|\||&&|\?\?|:)?=(?![=>~])"  # @a = 1, @a ||= 1, @a := 1
    r"|(?:\s*,\s*[@$]?\w+)+\s*=(?![=>~])"  # @a, @b = 1, 2
)
_AFTER = re.compile(
    r"[\[(]|\+\+|&\.|\?\.|!\."  # @a[0], @a(1), @a++, @a&.b
    r"|\s*(?:==|!=|=~|<=|>=|<<|<=>)|\)\s*\{"
    r"|\s+\{[^{}]*\}"  # @a {string} of JSDoc
    r"|\s+(?:(?:n?(?:var)?char|varbinary|decimal|numeric)\s*\(|(?:n?(?:var)?char|int|bigint|smallint|tinyint|bit|decimal|"
    r"numeric|money|float|real|datetime2?|uniqueidentifier|xml|sysname|table)\b(?=\s*(?:[(,;)=]|\Z|(?i:output|readonly))))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"[\w)\]\"']\s*(?:[-+*/%|&^]?=|:=|==|!=|=~|<=|>=|<<|\|\|=)\s*\Z"  # x = @a
    r"|[#$]\{\Z|\w(?:[\[{]|\((?:[^()]*,)?\s*)\Z"  # #{@a}, x[@a], f(@a), f(1, @a)
    r"|\b(?:int|char|bool|boolean|float|uint\w*|u?int[0-9]+)\s+\Z"
    r"|\b(?:DECLARE|EXEC|EXECUTE|PRINT|SELECT|SET|INTO|FROM|JOIN|WHERE|VALUES|RETURN|OUTPUT)\s+\(?\Z"
    r"|(?i:\bdeclare\s+\Z)"
    r"|\A\s*(?:EXEC(?:UTE)?|SELECT|INSERT INTO|UPDATE|DELETE FROM|DECLARE|CREATE|ALTER|MERGE|CALL|PRINT)\s"
    r"|\A\s*(?://|/\*|--\s)|[;{})]\s*//"  # a comment
)
_LESS_VARIABLE = re.compile(r":[ \t]*[^;:?!\s][^;:?!\r\n]*;[ \t]*(?=[\r\n]|\Z)")
_STYLE_VALUE = re.compile(r"[\w-]:\s*\Z")
_ENDS_STYLE = re.compile(r"\s*;\s*\}?\s*\Z")
_VARIABLE = re.compile(r"(?<![\w@])@(\w+)(?=(?:\s*(?:[-+*/|&]|\|\||&&|<<|:)?=(?![=>~])|\[|&\.|\.\w))")
_DECLARE = re.compile(r"\A\s*(?:declare|int|char|bool|float|my|our|local)\s+\Z", re.IGNORECASE)
_IMPORT = re.compile(
    r"(?:\A\s*(?:import|export)\b.*\bfrom|\A\s*\}?\s*from|\A\s*@?(?:import|use|forward|export|require)|\brequire\s*\(|"
    r"\bimport\s*\(|\b(?:jest\.|vi\.)\w+\s*\()\s*[\"']\Z"
)
_MODULE_KEY = re.compile(r"[\"']\s*:\s*[\"'\[{^0-9~]")
_PROMPT = re.compile(r"\s*(?:\$|PS [^>]{0,80}>|[\w.-]+@[\w.-]+[:~\w/. -]{0,80}[$#])\s+\S")
_PACKAGES = re.compile(
    r"(?:\A|[\s(:>$])(?:npm|pnpm|yarn|bun|deno|npx|bunx|jsr)(?:\s+(?:i|install|add|remove|rm|uninstall|un|update|up|upgrade|"
    r"link|exec|x|dlx|view|info|publish|create|init|ls|why|outdated))*(?P<rest>(?:\s+[^\s?!,;]+)*)\s+\Z"
)
_PERSON = re.compile(
    r"\b(?:ask|asked|tell|told|ping|cc|thanks?|thank you|hi|hey|hello|dear|by|notify|invite|credit|assign(?:ed)? to|"
    r"mention|kudos to|according to)[\s,:]*\Z",
    re.IGNORECASE,
)
_LINE_END = re.compile(r"\r\n?|\n")
_ONLY_WORDS = re.compile(r"\s*(?:[@$]?\w+\s*,\s*)+\Z")
_ANNOTATION = re.compile(r"@[\w.:]+(?:\([^()]*\))?\s*")
_ANNOTATIONS = re.compile(r"\s*(?:@[\w.]+(?:\([^()]*\))?\s+)*\Z")
_ONLY_ANNOTATIONS = re.compile(r"\s*(?:@[\w.:]+(?:\([^()]*\))?\s*)+\Z")
_COMMENT_LINE = re.compile(r"\s*(?://|/\*|\*|#|--)")
_DOC_TAG = re.compile(
    r"\s*(?:\*|#+|//+|--+)?\s*[@\\](?:param|returns?|throws|raises?|see|example|deprecated|since|brief|typedef|type|yield)\b"
)
_STAR = re.compile(r"\s*(?:\*+|#+|//+|--+)\s+\Z")
_PROSE_WORD = re.compile(
    r"\b(?:why|what|how|does|did|please|explain|the|an|of|are|was|can|could|should|would|you|we|our|its|which|show|"
    r"look|check|review|compare|about|not|is|has)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[?!]\s|\?\Z|\w\.(?:\s|\Z)")
_SHELL_ARGUMENTS = re.compile(r"\s-{1,2}\w|\s[|&>]|\$[({@<\w]")
_MAKE_RULE = re.compile(r"\t|[a-z.][\w./%-]*(?:\s+[\w./%-]+)*\s*::?(?:\s|\Z)")


def words_in_code(message: str, mentions: Sequence[Mention], code: CodeRanges) -> dict[int, str]:
    """Return the mentions that are code or the name of a person: offset of the "@" → where it is, for a message.

    Args:
        message: text of the message.
        mentions: its mentions.
        code: its ranges of code, whose variables are variables in the prose, too.
    """
    found: dict[int, str] = {}
    bare = [mention for mention in mentions if _may_be_code(message, mention)]
    if not bare:
        return found
    text = _Lines(message)
    variables = _variables_in(message, code)
    for mention in check_each(bare):
        line = text.line_at(mention.start)
        before = message[max(text.start(line), mention.start - MAX_LINE) : mention.start]
        after = message[mention.end : min(text.end(line), mention.end + MAX_LINE)]
        if _assigns(before, after):
            variables.add(mention.text)
        if _is_code(mention, before, after, text, line):
            found[mention.start] = "in code"
        elif mention.kind == "file" and _PERSON.search(before):
            found[mention.start] = "the name of a person"
    found |= {m.start: "the name of a variable" for m in bare if m.text in variables and m.start not in found}
    return found


def _is_bare(message: str, mention: Mention) -> bool:
    """Return whether a mention is a single word without a colon, a path, lines or an argument."""
    if message.startswith(":", mention.end) and not message.startswith("::", mention.end):
        return mention.kind != "file" and _LESS_VARIABLE.match(message, mention.end) is not None
    return _is_word(mention) and mention.text[1] not in "\"'"


def _is_word(mention: Mention) -> bool:
    if mention.lines is not None or mention.root or mention.scope:
        return False
    return not is_path_like(mention.target) if mention.kind == "file" else not mention.target


def _may_be_code(message: str, mention: Mention) -> bool:
    return _is_bare(message, mention) or (mention.kind in ("file", "folder") and message[mention.start - 1] in "\"'")


class _Lines:
    """Lines of a message by number."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._in_block: list[bool] = []
        self._starts = [0, *(end.end() for end in check_each(_LINE_END.finditer(message)))]

    def line_at(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def start(self, line: int) -> int:
        return self._starts[line]

    def end(self, line: int) -> int:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._message)
        while end > self._starts[line] and self._message[end - 1] in "\r\n":
            end -= 1
        return end

    def is_in_block(self, line: int) -> bool:
        """Return whether the line is indented under a line that opens a block of code."""
        if not self._in_block:
            self._in_block = list(self._find_blocks())
        return self._in_block[line]

    def _find_blocks(self) -> Iterator[bool]:
        above = [(-1, False)]  # enclosing lines: indentation, whether the lines under it are in a block
        for line in check_each(range(len(self))):
            content = self[line]
            indent = _indent(content)
            if indent == len(content):
                yield False
                continue
            while above[-1][0] >= indent:
                above.pop()
            is_inside = above[-1][1]
            above.append((indent, is_inside or (opens_block(content) and not _is_prose(content))))
            yield is_inside

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, line: int) -> str:
        """Return the start of a line."""
        return self._message[self.start(line) : min(self.end(line), self.start(line) + MAX_LINE)]


def _variables_in(message: str, code: CodeRanges) -> set[str]:
    """Return the words that code blocks use as variables."""
    found: set[str] = set()
    for start, end in check_each(code.ranges):
        found.update(f"@{match[1]}" for match in _VARIABLE.finditer(message, start, end))
    return found


def _assigns(before: str, after: str) -> bool:
    """Return whether the line is an assignment to the word, or declares it."""
    if not before.strip() or _ONLY_WORDS.match(before):
        return _ASSIGNMENT.match(after) is not None
    return _DECLARE.match(before) is not None


def _is_code(mention: Mention, before: str, after: str, text: _Lines, line: int) -> bool:
    """Return whether a word is code, judged by its line and the lines around it."""
    quoted = before[-1:] in ("'", '"') and after[:1] == before[-1:]
    if quoted and (_IMPORT.search(before) or (is_package_like(mention.target) and _MODULE_KEY.match(after))):
        return True
    if not _is_word(mention):
        return False
    if after.startswith(":") or (_STYLE_VALUE.search(before) and _ENDS_STYLE.match(after)):
        return True
    if _ASSIGNMENT.match(after) or _AFTER.match(after) or _BEFORE.search(before) or _PROMPT.match(before):
        return True
    if is_package_like(mention.target):
        command = _PACKAGES.search(before)
        return command is not None and not _is_prose(command["rest"])
    if _is_doc_tag(before, text, line) or _is_recipe(before, after, text, line):
        return True
    if _ANNOTATIONS.match(before) and _annotates(after, text, line):
        return True
    if _is_prose(before) or _is_prose(after):
        return False
    return after.rstrip()[-1:] in (";", "{") or text.is_in_block(line)


def _annotates(after: str, text: _Lines, line: int) -> bool:
    """Return whether the word is an annotation of a declaration on its line or below it."""
    rest = after.lstrip()
    while (other := _ANNOTATION.match(rest)) is not None:
        rest = rest[other.end() :]
    if rest and _is_prose(rest):
        return False
    if rest and is_declaration(rest):
        return True
    for below in range(line + 1, min(line + 1 + MAX_ANNOTATIONS, len(text))):
        content = text[below]
        if not content.strip():
            return False
        if not _ONLY_ANNOTATIONS.match(content) and not _COMMENT_LINE.match(content):
            return is_declaration(content)
    return False


def _is_doc_tag(before: str, text: _Lines, line: int) -> bool:
    """Return whether the word is a tag in a comment: " * @memory {string}" next to other tags or within /* … */."""
    if not _STAR.match(before):
        return False
    for step in (-1, 1):
        other = line + step
        for _ in range(MAX_ANNOTATIONS):
            if not 0 <= other < len(text) or not _COMMENT_LINE.match(text[other]):
                break
            if _DOC_TAG.match(text[other]) or text[other].lstrip().startswith(("/*", "*/")):
                return True
            other += step
        else:
            continue
        if step == 1 and other < len(text) and before.lstrip()[0] != "*" and is_declaration(text[other]):
            return True
    return False


def _is_recipe(before: str, after: str, text: _Lines, line: int) -> bool:
    """Return whether the line is a command of a makefile: a tab and an "@" that hides the command."""
    if not before.startswith("\t") or before.strip("\t") not in ("", "-", "+"):
        return False
    if _SHELL_ARGUMENTS.search(after):
        return True
    above = next((text[other] for other in range(line - 1, max(-1, line - MAX_LINES), -1) if text[other].strip()), "")
    return _MAKE_RULE.match(above) is not None


def _is_prose(text: str) -> bool:
    return _PROSE_WORD.search(text) is not None or _SENTENCE_END.search(text) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


MAX_DECLARATION_LINE = 300
"""Maximum number of characters of a line that are read; a longer line is data."""

_MODIFIER = (
    r"(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|sealed|open|inner|"
    r"inline|suspend|readonly|extern|unsafe|partial|lateinit|declare|pub(?:\([^()]*\))?|fileprivate|mutating|"
    r"convenience|required|lazy|weak|synchronized|native|transient|volatile|tailrec|operator|infix|const|data|case|"
    r"implicit|actual|expect|local|external|late|covariant|nonisolated|mut)"
)
_KEYWORD = (
    r"(?:class|struct|enum|interface|trait|protocol|actor|extension|object|record|module|namespace|def|defp|defmodule|"
    r"defmacro|func|fun|fn|function|sub|proc|val|var|let|type|typealias|macro|method|mixin|template|union|impl|subroutine|"
    r"contract|annotation|library|service|message|procedure|component|fixture)"
)
_PATTERNS = (
    rf"(?:{_MODIFIER}\s+)*{_KEYWORD}\s+(?:\([^()]*\)\s*)?[\w.$?!:~]*\w[?!]?\s*(?:[<(\[{{=;,]|:(?:\s|\Z)|\Z|->|"
    r"(?:extends|implements|where|with|by|do|is)\b)",
    rf"(?:{_MODIFIER}\s+)+[\w.$<>\[\],?&* ]+[({{=;]",
    r"(?:constructor|init\??|subscript|deinit)\s*[({]",
    r"[\w.<>\[\],?*&]+\s+[\w$]+\s*\([^()]*\)\s*(?:throws\s[\w., ]+)?(?:async\s*)?(?:\{|;|=>)",  # void run() {
    r"[\w.<>\[\],?*&]+\s+[\w$]+\s*(?:=[^=].*)?;\s*\Z",  # String name;
    r"[\w$#]+\s*\([^()]*\)\s*(?::\s*[\w<>\[\]|. ]+)?\s*\{\s*\Z",  # run(): void {
    r"[\w$]+[!?]?\s*:\s*[\w<>\[\]|. {}()=>,\"']+;\s*\Z",  # name: string;
    r"[\w$]+\s*=(?![=>~])\s*\S",  # name = value
    r"(?:Feature|Scenario(?: Outline| Template)?|Background|Rule|Examples?)\s*:",  # Gherkin
)
_DECLARATION = re.compile(rf"\s*(?:{'|'.join(_PATTERNS)})")
_OPENS_BLOCK = re.compile(
    r".*(?:[{(\[]|=>|->|\bdo(?:\s*\|[^|]*\|)?)\s*\Z"
    r"|\s*(?:if|elif|elsif|unless|while|for|foreach|switch|match|case|when|with|except|rescue|catch|until)\b[^?]*[)\]:]\s*\Z"
    r"|\s*(?:try|else|ensure|finally|begin|loop)\s*:?\s*\Z",
    re.IGNORECASE,
)


def is_declaration(line: str) -> bool:
    """Return whether a line declares a class, a function, a variable or a test."""
    return _DECLARATION.match(line, 0, MAX_DECLARATION_LINE) is not None


def opens_block(line: str) -> bool:
    """Return whether a line opens a block of code."""
    return is_declaration(line) or _OPENS_BLOCK.match(line, 0, MAX_DECLARATION_LINE) is not None


_PATH, _FOLDER, _SYMBOL = "@ and the path of a file", "@ and the path of a folder with a slash", "@# and a name"
_ADVICE = {
    "code": _SYMBOL,
    "class": _SYMBOL,
    "def": _SYMBOL,
    "file": _PATH,
    "files": _PATH,
    "folder": _FOLDER,
    "folders": _FOLDER,
    "function": _SYMBOL,
    "method": _SYMBOL,
    "symbol": _SYMBOL,
    "symbols": _SYMBOL,
}
"""Word behind "@" in lower case → what to write."""

_SUGGESTIONS = {
    "changes": "@diff",
    "codebase": "@codebase",
    "currentfile": "@active",
    "git": "@diff",
    "git-changes": "@diff",
    "lint": "@diagnostics",
    "linter": "@diagnostics",
    "localchanges": "@diff",
    "problems": "@diagnostics",
    "repo-map": "@map",
    "selection": "@selection",
    "terminallastcommand": "@terminal",
    "terminalselection": "@terminal",
    "thisfile": "@active",
}
"""Word in lower case → the mention with the same content."""

_KINDS = {"git": "commit", "search": "codebase"}
"""Word before a colon → the kind of mention that takes the same argument."""

_WEB = frozenset({"fetch", "http", "url", "web"})
"""Words that add web pages."""

_HASH_WORD = re.compile(
    r"(?<![\w#@/&.-])#(?:changes|codebase|localChanges|problems|selection|thisFile|terminalLastCommand|terminalSelection)(?![\w/-]|[.:]\w)"
)
MAX_WORDS = 20
"""Maximum number of words with "#" that are reported."""


def word_as_text(mention: Mention) -> list[MentionOutcome]:
    """Return the outcome of an "@word" of another tool that names nothing here; none for all other words."""
    word = (mention.root or mention.target).lower()
    if mention.kind != "file" or mention.lines is not None:
        return []
    if word in _WEB:
        reason = (
            f"{mention.text} adds web pages in other tools; here it is text, because promptls reads local files only."
        )
        return [MentionOutcome(mention, "text", reason=reason)]
    if mention.root:
        kind = _KINDS.get(word, "")
        suggestion = format_argument_mention(kind, mention.target) or f"@{kind}"
        return [_tool_text(mention, suggestion, suggestion)] if kind else []
    suggestion = _SUGGESTIONS.get(word, "")
    advice = suggestion or _ADVICE.get(word)
    return [_tool_text(mention, advice, suggestion)] if advice else []


def hash_words(message: str, code: CodeRanges) -> Iterator[MentionOutcome]:
    """Yield the outcomes of words such as "#selection" outside of code."""
    count = 0
    for match in _HASH_WORD.finditer(message):
        if code.contains(match.start()):
            continue
        count += 1
        if count > MAX_WORDS:
            return
        suggestion = _SUGGESTIONS[match.group()[1:].lower()]
        yield _tool_text(
            Mention(match.group(), match.start(), match.end(), "file", match.group()), suggestion, suggestion
        )


def _tool_text(mention: Mention, advice: str, suggestion: str) -> MentionOutcome:
    reason = f"{mention.text} is the syntax of another tool, so it is text. Write {advice} to mention it."
    return MentionOutcome(mention, "text", reason=reason, suggestion=suggestion)


MAX_DOUBTFUL = 20
"""Maximum number of mentions in unclosed or indented code that are resolved; code rarely contains any."""

MAX_WARNINGS = 2
"""Maximum number of words whose reason is a warning; pasted code contains many words of one kind."""
MAX_NAMES = 10
"""Maximum number of other words in a warning."""

_UNCLOSED, _INDENTED = "in a code fence that is not closed", "in indented code"
_PLACE_ADVICE = {_UNCLOSED: "Close the fence", _INDENTED: "Remove the indentation"}


def keyword_as_text(mention: Mention, place: str) -> MentionOutcome:
    """Return the outcome of a kind's name that is text; a colon makes it a mention anywhere."""
    return _as_text(mention, place, f"{mention.text}:")


def path_as_text(outcome: MentionOutcome, place: str, context: ResolveContext) -> list[MentionOutcome]:
    """Return the outcome of a path or a word that is text; none if the workspace has nothing with its name."""
    mention = outcome.mention
    if outcome.status == "unresolved":
        if place in _PLACE_ADVICE:
            return []
        if not outcome.suggestion:
            return [] if place else word_as_text(mention)
        return [_as_text(mention, place or "not the name of a file", outcome.suggestion)]
    suggestion = ""
    if place not in _PLACE_ADVICE and outcome.targets:
        first = outcome.targets[0]
        suggestion = mention_for(context.snapshot, first.path, folder=first.kind == "folder") or ""
    return [_as_text(mention, place, suggestion if suggestion != mention.text else "")]


def doubtful_mentions(message: str, code: CodeRanges, keywords: Keywords) -> Iterator[tuple[Mention, str]]:
    """Yield the explicit references in code that the author may not mean as code, and where they are."""
    unclosed = message.find("\n", code.unclosed) + 1 if code.unclosed >= 0 else 0
    ranges = [(start, end, _INDENTED) for start, end in code.indented]
    if unclosed:
        ranges.append((unclosed, len(message), _UNCLOSED))
    count = 0
    for start, end, place in ranges:
        for mention in parse(message[start:end], keywords):
            if mention.kind in ("file", "folder", "symbol") and is_explicit_reference(mention):
                count += 1
                if count > MAX_DOUBTFUL:
                    return
                yield replace(mention, start=mention.start + start, end=mention.end + start), place


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
    advice = _PLACE_ADVICE.get(place) or (f"Write {suggestion}" if suggestion else "Write it in a sentence")
    reason = f"{mention.text} is {place}, so it is text. {advice} to mention it."
    return MentionOutcome(mention, "text", reason=reason, suggestion=suggestion)
