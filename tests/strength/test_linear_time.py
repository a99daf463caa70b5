"""Redaction takes time in proportion to the length of a text, also of texts that are made to be slow."""

from __future__ import annotations

import time

import pytest

from promptls.prompt.sanitize import redact

BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
KEY_LINE = "A" * 64 + "\n"
SMALL, FACTOR = 4_000, 16
"""Characters of the shorter text, and how much longer the other one is."""
MAX_RATIO = 64
"""Maximum ratio of the times: linear time has 16, quadratic time has 256."""


def repeat(unit: str, length: int) -> str:
    return unit * (length // len(unit))


def seconds(text: str, path: str) -> float:
    """Return the CPU time of redaction; the shorter of two, because of other processes."""
    times = []
    for _ in range(2):
        began = time.process_time()
        redact(text, path)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("path", ["a.py", "a.yml"])
@pytest.mark.parametrize(
    ("prefix", "unit"),
    [
        ("", "auth:"),
        ("", "auth:a1B2&"),
        ("", "auth=x,"),
        ("", "salasana==()senha="),
        ("", 'token="x'),
        ("", "token='"),
        ("", "\\'auth\\':"),
        ("", "login('a',"),
        ("", "insert into a (password) values ("),
        ("insert into a (password) values (", "'"),
        ("", "password,user\n"),
        ("", "postgres://u:p"),
        ("kind: Secret value\n", "data: x\n"),
        ("", "name: key value: x\n"),
        ("", BEGIN),
        ("", BEGIN + "\n" * 1_000 + END),
        (KEY_LINE * 100, END),
        ("", "ignore previous "),
        ("@@ -1 +1 @@\n", "+password: x\n- name: key\n"),
        ("", "sqlplus a/"),
        ("", "insert into t (key) values ('a'),"),
        ("", "\u200b"),
    ],
)
def test_redaction_takes_linear_time(prefix: str, unit: str, path: str) -> None:
    small = seconds(prefix + repeat(unit, SMALL), path)
    large = seconds(prefix * FACTOR + repeat(unit, SMALL * FACTOR), path)
    assert large < MAX_RATIO * max(small, 0.005)
