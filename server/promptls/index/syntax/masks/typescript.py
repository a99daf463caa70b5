"""Mask of TypeScript: semicolons before call signatures, and syntax that its grammars cannot parse."""

from __future__ import annotations

import re

_NON_NEWLINE = re.compile(rb"[^\n]")
_VARIANCE = re.compile(
    rb"([<,]\s*(?:/\*[^\n]{0,200}?\*/\s*)?)(in[ ]out|in|out)(?=[ ](?!(?:in|of|as|is|extends|instanceof|satisfies)\b)[A-Za-z_$][\w$]*\s*"
    rb"(?:[,>=]|extends\b))"
)
_ESCAPED_BACKTICK = re.compile(rb"\\[\\`]")
_CALL_SIGNATURE = re.compile(
    rb"\n[ \t]*([ \t])(?=<\s*(?:const[ ])?[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b)"
    rb"|\(\s*(?:\.\.\.)?[A-Za-z_$][\w$]*\??\s*:|\(\)\s*:)"
)
_MAX_LINES_BETWEEN_MEMBERS = 20
"""Comments and blank lines that are skipped between two members of a type."""

_MAX_COMMENT_BYTES = 8_000
"""Longest block comment that is skipped between two members of a type."""

_LINE_COMMENT = re.compile(rb"(?<!\S)//.*\Z")
_MEMBER_END = re.compile(rb"(?:[\w$)\]}'\"`]|[^=]>)\Z")
_INCOMPLETE_END = re.compile(
    rb"\b(?:extends|keyof|typeof|infer|readonly|is|as|return|new|default|case|in|of|instanceof|await|yield|else|throw|"
    rb"delete|async|satisfies)\Z"
)


def with_separated_signatures(data: bytes) -> bytes:
    """Insert the semicolons that the TypeScript grammars need before call signatures, in place of blanks.

    Also blanks the variance of type parameters and escaped backticks, which these grammars cannot parse.
    """
    data = _VARIANCE.sub(lambda match: match[1] + b" " * len(match[2]), data)
    if b"\\`" in data:
        data = _ESCAPED_BACKTICK.sub(lambda match: b"  " if match[0] == b"\\`" else match[0], data)
    masked = bytearray(data)
    for match in _CALL_SIGNATURE.finditer(data):
        end, blank = _member_end(data, match.start()), match.start(1)
        if end > 0:
            masked[end:blank] = _NON_NEWLINE.sub(b" ", data[end:blank])  # a comment would separate them a second time
            masked[blank] = ord(";")
    return bytes(masked)


def _member_end(data: bytes, end: int) -> int:
    """Return the end of the member of a type before a line end, comments skipped; 0 if there is no member."""
    for _ in range(_MAX_LINES_BETWEEN_MEMBERS):
        start = data.rfind(b"\n", 0, end) + 1
        line = data[start:end].rstrip()
        if line.endswith(b"*/"):
            end = data.rfind(b"/*", max(0, end - _MAX_COMMENT_BYTES), end)
        else:
            line = _LINE_COMMENT.sub(b"", line).rstrip()
            if line:
                is_member = _MEMBER_END.search(line) and not _INCOMPLETE_END.search(line)
                return start + len(line) if is_member else 0
            end = start - 1
        if end < 0:
            break
    return 0
