r"""Regular expressions of a workspace, matched in time that grows with the text only.

Cody's rules name files by expressions that its server runs with RE2.  Python's `re` takes exponential time for
some ("(a+)+$"), and a workspace is not trusted; so here is Thompson's construction (1968), with states found
as they are met.  Literals, ".", classes, "\d\w\s", groups, "|", "*+?{m,n}", "^" and "$", "(?i)" at the start;
anything else is `Unsupported`.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 500  # of an expression
MOST_STEPS = 400  # instructions of its program
MOST_NESTED = 20  # groups in groups

_REPEAT = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}")
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\[]|\\.)*\]", re.DOTALL)
_SETS = re.compile(r"--|&&|~~|\|\|")  # Python may give these a meaning inside of "[…]"
_ONE = frozenset("dDwWsS")
_MATCH = -1
_END = "$"


class Unsupported(ValueError):
    """An expression that is wrong or beyond what is understood; the text says why."""


class TooCostly(Exception):
    """The effort that a request may spend is used up."""


class Effort:
    """What a request may spend on all its expressions, in states visited."""

    __slots__ = ("left",)

    def __init__(self, left: int = 200_000) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        """Raises `TooCostly` when nothing is left."""
        self.left -= amount
        if self.left < 0:
            raise TooCostly


_Jumps = tuple[int, ...]
_Step = re.Pattern[str] | str | _Jumps  # one character, "^" or "$", or where else to go on
_States = frozenset[int]


class Expression:
    """One expression, compiled; keeps the states that it has met."""

    __slots__ = ("_known", "_program", "_steps")

    def __init__(self, source: str) -> None:
        """Raises `Unsupported`."""
        self._program = _Compiler(source).program()
        self._known: dict[tuple[_States, str], _States] = {}

    def search(self, text: str, effort: Effort) -> bool:
        """Whether the expression matches anywhere in the text.  Raises `TooCostly`."""
        states = self._closed({0}, effort, start=True)
        for character in text:
            if _MATCH in states:
                return True
            effort.spend(1)
            after = self._known.get((states, character))
            if after is None:
                moved = {i + 1 for i in states if self._takes(i, character)}
                after = self._known[states, character] = self._closed(moved | {0}, effort)
            states = after
        return _MATCH in states or _MATCH in self._closed(set(states), effort, start=not text, end=True)

    def _takes(self, index: int, character: str) -> bool:
        step = self._program[index]
        return isinstance(step, re.Pattern) and step.match(character) is not None

    def _closed(self, indices: set[int], effort: Effort, start: bool = False, end: bool = False) -> _States:
        """The instructions that wait for a character or for the end, and `_MATCH`."""
        waiting: set[int] = set()
        seen: set[int] = set()
        left = list(indices)
        while left:
            index = left.pop()
            if index in seen:
                continue
            seen.add(index)
            if index in (_MATCH, len(self._program)):
                waiting.add(_MATCH)
                continue
            step = self._program[index]
            if isinstance(step, tuple):
                left += [index + offset for offset in step]
            elif isinstance(step, re.Pattern) or (step == _END and not end):
                waiting.add(index)
            elif step == _END or start:
                left.append(index + 1)
        effort.spend(len(seen))
        return frozenset(waiting)


class _Compiler:
    """Recursive descent; a program is a list in which jumps are relative, so that parts can be repeated."""

    def __init__(self, source: str) -> None:
        if len(source) > MOST_CHARACTERS:
            raise Unsupported(f"it is longer than {MOST_CHARACTERS} characters")
        self._flags = re.DOTALL
        if source.startswith("(?i)"):
            source, self._flags = source[4:], re.DOTALL | re.IGNORECASE
        self._source = source
        self._at = 0
        self._depth = 0

    def program(self) -> list[_Step]:
        program = self._alternatives()
        if self._at < len(self._source):
            raise Unsupported('there is a ")" too many')
        return program

    def _alternatives(self) -> list[_Step]:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise Unsupported("its groups are nested too deep")
        program = self._sequence()
        while self._next() == "|":
            self._at += 1
            other = self._sequence()
            program = [(1, len(program) + 2), *program, (len(other) + 1,), *other]
        self._depth -= 1
        return program

    def _sequence(self) -> list[_Step]:
        program: list[_Step] = []
        while self._next() not in ("", "|", ")"):
            program += self._repeated(self._atom())
            if len(program) > MOST_STEPS:
                raise Unsupported("it is too large")
        return program

    def _repeated(self, body: list[_Step]) -> list[_Step]:
        mark = self._next()
        counted = _REPEAT.match(self._source, self._at)
        if counted is not None:
            self._at = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else -1
        elif mark and mark in "*+?":
            self._at += 1
            least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[mark]
        else:
            return body
        if self._next() == "?":  # the shortest match is as good as any
            self._at += 1
        if self._next() in ("*", "+", "?"):
            raise Unsupported("something is repeated twice in a row")
        if most >= 0 and most < least:
            raise Unsupported("a repetition ends before it begins")
        if max(least, most, 1) * (len(body) + 1) > MOST_STEPS:
            raise Unsupported("it is too large")
        program = body * least
        if most < 0:
            return [*program, (1, len(body) + 2), *body, (-len(body) - 1,)]
        for _ in range(most - least):
            program += [(1, len(body) + 1), *body]
        return program

    def _atom(self) -> list[_Step]:
        character = self._next()
        if character == "(":
            return self._group()
        if character in ("^", _END):
            self._at += 1
            return [character]
        if character == "[":
            found = _CLASS.match(self._source, self._at)
            if found is None or _SETS.search(found[0]):
                raise Unsupported('a "[" is not closed, or what it holds is not understood')
            return [self._one(found[0])]
        if character == "\\":
            escaped = self._source[self._at + 1 : self._at + 2]
            if not escaped or (escaped.isalnum() and escaped not in _ONE):
                raise Unsupported(f'"\\{escaped}" is not understood')
            return [self._one("\\" + escaped)]
        if character in "*+?":
            raise Unsupported(f'there is nothing that "{character}" could repeat')
        return [self._one("." if character == "." else re.escape(character), len(character))]

    def _group(self) -> list[_Step]:
        self._at += 3 if self._source.startswith("(?:", self._at) else 1
        if self._next() == "?":
            raise Unsupported('"(?" is understood at the start as "(?i)" and as "(?:" only')
        program = self._alternatives()
        if self._next() != ")":
            raise Unsupported('a "(" is not closed')
        self._at += 1
        return program

    def _one(self, source: str, length: int = 0) -> re.Pattern[str]:
        """An expression for one character, which Python matches in no time."""
        self._at += length or len(source)
        try:
            return re.compile(source, self._flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unsupported(f"{source}: {error}") from None

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]
