r"""Fences around quoted content in a prompt, with an unpredictable boundary.

Grammar (BOUNDARY is the same string in the whole prompt):

    element   = "<context-" BOUNDARY attribute* ">" LF content LF "</context-" BOUNDARY ">"
              | "<context-" BOUNDARY attribute* "/>"            named but not shown
    attribute = " " name '="' value '"'                         name: letters a-z
    value     = any characters but `"`, `<`, `>` and line ends; see sanitize.header_text
    content   = any text in which BOUNDARY does not occur, to the last character as given

An element starts at the start of a line.  Its content ends before the LF of the only line that closes the element:
BOUNDARY is checked after the contents are known: it occurs neither in them nor in the message.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Iterator

from promptls.prompt.sanitize import header_text

BOUNDARY_LENGTH = 12
"""Length of a boundary in hexadecimal digits: 48 bits, none of which a file can know in advance."""

SPECIMEN = "3f90127c048e"
"""Boundary with which prompts are counted: it has the average number of tokens."""

_KEY = secrets.token_bytes(32)


def boundary(message: str, contents: Iterable[str], key: bytes | None = None, length: int = BOUNDARY_LENGTH) -> str:
    """Return the boundary of a prompt: the first one derived from the key that does not occur in its texts.

    It depends on nothing else, so that prompts with the same beginning share it.  `contents` are all texts in the
    prompt, those of headers included.  The default `key` is random for each process.
    """
    return next(boundaries(message, contents, key, length))


def boundaries(
    message: str, contents: Iterable[str], key: bytes | None = None, length: int = BOUNDARY_LENGTH
) -> Iterator[str]:
    """Yield the boundary, followed by alternatives that are equally unpredictable.

    Candidate n is HMAC-SHA256(key, n), cut to `length` digits.  Texts that quote an earlier prompt, and so contain its
    boundary, get the next candidate, which no text has shown yet.
    """
    texts = [message, *contents]
    for attempt in range(1 << 32):
        digest = hmac.digest(_KEY if key is None else key, attempt.to_bytes(4, "big"), "sha256")
        name = digest.hex()[:length]
        if not any(name in text for text in texts):
            yield name
    raise AssertionError("unreachable: 2**32 boundaries cannot all occur in one text")


def fence(attributes: Iterable[tuple[str, str]], content: str | None, name: str) -> str:
    """Return one element of the grammar; without content in its short form.  Empty attributes are left out."""
    head = f"<context-{name}" + "".join(f' {key}="{header_text(value)}"' for key, value in attributes if value)
    return head + "/>" if content is None else f"{head}>\n{content}\n</context-{name}>"
