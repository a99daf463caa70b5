"""lsprotocol, imported in half the time.

Its 550 classes are made when it is imported, each with methods of its own to compare, to show and to pickle it, which
were most of the time until a server answers.  Nothing here or in pygls compares messages or shows them; what a class
defines itself (positions, ranges) stays.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import attrs

log = logging.getLogger(__name__)

_WITHOUT = {"eq": False, "repr": False, "match_args": False, "getstate_setstate": False}


def import_lsprotocol() -> None:
    """Import it, before anything else does."""
    if "lsprotocol.types" in sys.modules:
        return
    define = attrs.define

    def lean(cls: type | None = None, **options: Any) -> Any:
        return define(cls, **{**_WITHOUT, **options})

    attrs.define = lean  # type: ignore[assignment]
    try:
        import lsprotocol.types  # noqa: F401
    except TypeError as error:  # another attrs
        log.info("lsprotocol is loaded as it is: %s", error)
    finally:
        attrs.define = define
