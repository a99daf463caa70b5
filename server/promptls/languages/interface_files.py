"""Interface files: files that repeat the definitions of their implementation, such as "cart.mli" for "cart.ml"."""

from __future__ import annotations

_IMPLEMENTATIONS = {
    "mli": ("ml",),
    "h": ("m", "mm"),
    "ads": ("adb",),
    "fsi": ("fs",),
    "resi": ("res",),
    "rei": ("re",),
    "pks": ("pkb",),
    "tps": ("tpb",),
}
"""Extensions of implementations by the extension of the interface."""


def implementation_paths(path: str) -> tuple[str, ...]:
    """Return the paths that the implementation of an interface file can have; () for another file."""
    stem, dot, extension = path.rpartition(".")
    return tuple(f"{stem}{dot}{other}" for other in _IMPLEMENTATIONS.get(extension, ()))
