"""Commands that add packages to the environment that promptls runs in."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path


def extra_command(extra: str) -> str:
    """Return the command that installs an extra: promptls itself is often a file, so `promptls[extra]` is not found."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, needed for errors only

    try:
        declared = requires("promptls") or []
    except PackageNotFoundError:
        declared = []
    found = [re.split(r"\s*;", one)[0] for one in declared if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", one)]
    return install_command(found or [f"promptls[{extra}]"])


def install_command(requirements: Sequence[str], options: str = "") -> str:
    """Return the command for requirements that suits how promptls was installed: by pipx, uv or pip."""
    names = shlex.join(requirements)
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx inject promptls {names}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # environments of uv have no pip
        return f"uv pip install --python {python} {options}{names}"
    return f"{python} -m pip install {options}{names}"
