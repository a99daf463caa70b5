r"""The fences around what is quoted in a prompt, and the boundary that nobody can guess.

Grammar, for readers that know nothing else (BOUNDARY is the same string in the whole prompt):

    element   = "<context-" BOUNDARY attribute* ">" LF content LF "</context-" BOUNDARY ">"
              | "<context-" BOUNDARY attribute* "/>"            something named but not shown
    attribute = " " name '="' value '"'                         name: letters a-z
    value     = any characters but `"`, `<`, `>` and line ends; see sanitize.header_text
    content   = any text in which BOUNDARY does not occur, to the last character as given

An element starts at the start of a line.  Its content ends before the LF of the only line that closes
it: BOUNDARY is chosen after the contents are known and occurs in none of them, nor in the message.
This module knows nothing of items, files or budgets.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Iterator

from promptls.prompt.sanitize import header_text

BOUNDARY_LENGTH = 12
"""Hexadecimal digits: 48 bits, of which a file cannot learn one before the prompt is made."""

SPECIMEN = "3f90127c048e"
"""Stands for the boundary while a prompt is measured: it costs what the average one costs."""

_SECRET = secrets.token_bytes(32)


def boundary(message: str, contents: Iterable[str], secret: bytes | None = None, length: int = BOUNDARY_LENGTH) -> str:
    """The boundary of one prompt: HMAC-SHA256 of message and contents, cut to `length` digits.

    `contents` are all texts that will stand in the prompt, the texts of headers included.  `secret`
    is drawn once per process; tests give their own to get prompts that can be compared.
    """
    return next(boundaries(message, contents, secret, length))


def boundaries(
    message: str, contents: Iterable[str], secret: bytes | None = None, length: int = BOUNDARY_LENGTH
) -> Iterator[str]:
    """The boundary, and what may be taken in its place: each as hard to guess."""
    texts = [message, *contents]
    for attempt in range(1 << 32):
        digest = hmac.new(_SECRET if secret is None else secret, attempt.to_bytes(4, "big"), "sha256")
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        name = digest.hexdigest()[:length]
        if not any(name in text for text in texts):
            yield name
    raise AssertionError("unreachable: 2**32 boundaries cannot all occur in one text")


def fence(attributes: Iterable[tuple[str, str]], content: str | None, name: str) -> str:
    """One element of the grammar above; `content` None gives the short form.  Empty values are left out."""
    head = f"<context-{name}" + "".join(f' {key}="{header_text(value)}"' for key, value in attributes if value)
    return head + "/>" if content is None else f"{head}>\n{content}\n</context-{name}>"
