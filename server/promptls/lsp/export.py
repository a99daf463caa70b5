"""Export of built prompts to files, for clients that can only open a document."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from promptls.lsp.documents import EXPORTED_SUFFIX
from promptls.settings import Settings, cache_directory

MAX_EXPORTS = 20
"""Number of exported prompts that are kept; older ones are deleted."""


def export_prompt(settings: Settings, uri: str, prompt: str) -> Path:
    """Write a prompt to a new file in the cache that only the user can read.

    Raises:
        OSError: The file cannot be written.
    """
    directory = cache_directory(settings) / "prompts"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = re.sub(r"[^\w-]+", "-", uri.rsplit("/", 1)[-1].removesuffix(".md"))[:40].strip("-") or "prompt"
    file = directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}{EXPORTED_SUFFIX}"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(prompt)
    for old in sorted(directory.glob(f"*{EXPORTED_SUFFIX}"))[:-MAX_EXPORTS]:
        old.unlink(missing_ok=True)
    return file
