"""Places of the cache, which are ours alone: what else stands there is in the way.

Files only; knows nothing of what they hold.
"""

from __future__ import annotations

import shutil
from pathlib import Path


def without_folder(place: Path) -> Path:
    """The place of a file, where no folder stands any more; nobody knows how one came there.  Raises OSError."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    return place
