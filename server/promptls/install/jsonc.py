"""Edits of JSON with comments and trailing commas that leave every other character as it is.

A scanner finds where values begin and end; an edit inserts, replaces or deletes the text of one member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

MAX_DEPTH = 100
"""Maximum nesting of values; configuration files have less than ten levels."""

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*(?:[^*\n]|\*(?!/))*\*/)*(?://[^\r\n]*)?")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[^\s,:{}\[\]\"/]+")


class InvalidJson(ValueError):
    """Raised for text that is not JSON; the text names the line."""


class Value(Struct, frozen=True):
    """A value and its location in the text."""

    start: int
    end: int
    content: Any  # decoded
    members: tuple[Member, ...] | None = None  # None for values that are not objects


class Member(Struct, frozen=True):
    """A member of an object."""

    name: str
    start: int  # of the name
    value: Value


class _Scanner:
    """Scans one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> Value | None:
        """Return the value of the text; None if it contains only comments."""
        self.skip_space()
        if self.at == len(self.text):
            return None
        value = self.value(0)
        self.skip_space()
        if self.at < len(self.text):
            raise self.error("unexpected text after the end")
        return value

    def value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise self.error("too many levels")
        start = self.at
        if self.text.startswith("{", start):
            return self.object(depth)
        if self.text.startswith("[", start):
            elements = []
            self.at += 1
            while not self.closes("]"):
                elements.append(self.value(depth + 1).content)
                self.comma("]")
            return Value(start, self.at, elements)
        match = _STRING.match(self.text, start) or _SCALAR.match(self.text, start)
        if match is None:
            raise self.error("a value is missing")
        try:
            content = json.loads(match.group())
        except ValueError:
            raise self.error(f"{match.group()[:40]} is not a value") from None
        self.at = match.end()
        return Value(start, self.at, content)

    def object(self, depth: int) -> Value:
        start, members = self.at, []
        self.at += 1
        while not self.closes("}"):
            match = _STRING.match(self.text, self.at)
            if match is None:
                raise self.error("a name in quotes is missing")
            self.at = match.end()
            self.skip_space()
            if not self.text.startswith(":", self.at):
                raise self.error("a colon is missing")
            self.at += 1
            self.skip_space()
            members.append(Member(str(json.loads(match.group(), strict=False)), match.start(), self.value(depth + 1)))
            self.comma("}")
        content = {member.name: member.value.content for member in members}
        return Value(start, self.at, content, tuple(members))

    def closes(self, bracket: str) -> bool:
        """Skip space and the bracket; return whether it was there."""
        self.skip_space()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        return False

    def comma(self, bracket: str) -> None:
        """Skip a comma, which is required unless the bracket follows."""
        self.skip_space()
        if self.text.startswith(",", self.at):
            self.at += 1
        elif not self.text.startswith(bracket, self.at):
            raise self.error("a comma is missing")

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def error(self, problem: str) -> InvalidJson:
        line = self.text.count("\n", 0, self.at) + 1
        return InvalidJson(f"line {line}: {problem}")


def parse(text: str) -> Value | None:
    """Return the value of a text with its locations; None if the text contains only comments.

    Raises:
        InvalidJson: The text is not JSON.
    """
    return _Scanner(text).document()


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path of names; missing objects are added.

    An object is merged with an existing object at the path: other members of it stay.

    Raises:
        InvalidJson: The text is not JSON, or a value on the path is not an object.
    """
    document = parse(text)
    if document is None:
        line_end = line_end_of(text)
        before = text if not text.strip() or text.endswith("\n") else text + line_end
        return set_member(f"{before}{{}}{line_end}", path, value)
    parent, names = document, list(path)
    while names:
        if parent.members is None:
            raise InvalidJson(f"line {text.count(chr(10), 0, parent.start) + 1}: an object is expected")
        member = _find(parent, names[0])
        if member is None:
            for name in reversed(names[1:]):
                value = {name: value}
            return _insert(text, parent, names[0], value)
        parent = member.value
        names.pop(0)
    if isinstance(value, dict) and parent.members is not None:
        for name, one in value.items():
            text = set_member(text, (*path, name), one)
        return text
    if parent.content == value:
        return text
    formatted = _format(value, _indent_before(text, parent.start), _indent_unit(text), line_end_of(text))
    return text[: parent.start] + formatted + text[parent.end :]


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at a path; unchanged if there is none.

    Raises:
        InvalidJson: The text is not JSON.
    """
    parent = parse(text)
    for name in path[:-1]:
        found = _find(parent, name) if parent is not None else None
        parent = found.value if found is not None else None
    member = _find(parent, path[-1]) if parent is not None else None
    if parent is None or parent.members is None or member is None:
        return text
    index = parent.members.index(member)
    start, end = member.start, member.value.end
    after = _after_comma(text, end)
    if after is not None:
        end = after
    line_start = text.rfind("\n", 0, start) + 1
    rest = _REST_OF_LINE.match(text, end)
    assert rest is not None
    if not text[line_start:start].strip() and text[rest.end() : rest.end() + 2].lstrip("\r")[:1] == "\n":
        start, end = line_start, text.index("\n", rest.end()) + 1
    removed = text[:start] + text[end:]
    if after is None and index > 0:  # the comma before the last member
        previous_end = parent.members[index - 1].value.end
        comma = _after_comma(text, previous_end)
        if comma is not None:
            removed = removed[: comma - 1] + removed[comma:]
    return removed


def line_end_of(text: str) -> str:
    """Return the line end that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def _find(value: Value, name: str) -> Member | None:
    """Return the last member of a name, which parsers use."""
    return next((member for member in reversed(value.members or ()) if member.name == name), None)


def _insert(text: str, parent: Value, name: str, value: Any) -> str:
    """Return the text with a new last member of an object."""
    line_end, unit = line_end_of(text), _indent_unit(text)
    outer = _indent_before(text, parent.start)
    members = parent.members or ()
    close = parent.end - 1
    if not members:
        inner = outer + unit
        content = text[parent.start + 1 : close].rstrip()
        added = (
            f"{content}{line_end}{inner}{json.dumps(name)}: {_format(value, inner, unit, line_end)}{line_end}{outer}"
        )
        return text[: parent.start + 1] + added + text[close:]
    last = members[-1]
    inner = _indent_before(text, last.start)
    own_line = not text[text.rfind("\n", 0, last.start) + 1 : last.start].strip()
    after_comma = _after_comma(text, last.value.end)
    end = last.value.end if after_comma is None else after_comma
    if not own_line:
        compact = f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return text[:end] + ("," if after_comma is None else "") + compact + text[end:]
    rest = _REST_OF_LINE.match(text, end)
    assert rest is not None
    member = f"{line_end}{inner}{json.dumps(name)}: {_format(value, inner, unit, line_end)}"
    trailing = "," if after_comma is not None else ""
    comma = "" if after_comma is not None else ","
    return text[: last.value.end] + comma + text[last.value.end : rest.end()] + member + trailing + text[rest.end() :]


def _after_comma(text: str, at: int) -> int | None:
    """Return the offset after the comma that follows an offset, None if none follows."""
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end() + 1 if text.startswith(",", match.end()) else None


def _indent_before(text: str, at: int) -> str:
    """Return the white space at the start of the line of an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """Return the indentation of one level: that of the first member that has one."""
    match = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return match[1] if match is not None else "  "


def _format(value: Any, indent: str, unit: str, line_end: str) -> str:
    """Return a value as indented JSON; lists of texts stay on one line."""
    if isinstance(value, dict) and value:
        inner = indent + unit
        members = [f"{inner}{json.dumps(name)}: {_format(one, inner, unit, line_end)}" for name, one in value.items()]
        return "{" + line_end + f",{line_end}".join(members) + line_end + indent + "}"
    return json.dumps(value, ensure_ascii=False)
