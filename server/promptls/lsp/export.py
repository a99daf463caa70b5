"""Finished prompts as files, for clients that can only be shown a document."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from promptls.documents import BUILT_ENDING
from promptls.settings import Settings, cache_folder

KEPT = 20
"""Files that stay: the newest."""


def write_built(settings: Settings, uri: str, prompt: str) -> Path:
    """The file that holds a prompt now; readable by the user alone.  Raises OSError."""
    folder = cache_folder(settings) / "prompts"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = re.sub(r"[^\w-]+", "-", uri.rsplit("/", 1)[-1].removesuffix(".md"))[:40].strip("-") or "prompt"
    file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}{BUILT_ENDING}"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(prompt)
    for old in sorted(folder.glob(f"*{BUILT_ENDING}"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return file
