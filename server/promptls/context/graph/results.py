"""What a function says it returns, read from its signature."""

from __future__ import annotations

import re

from promptls.model import Symbol

_AFTER_ARROW = re.compile(
    r"->\s*(?:&(?:'\w+\s*)?(?:mut\s+)?)?(?:impl\s+|dyn\s+)?[\"']?([A-Za-z_][\w.:]*)(\[[^\]]*\]?|<[^>]*>?)?"
)
_AFTER_COLON = re.compile(r"\)\s*:\s*([A-Za-z_$][\w$.]*)(<([A-Za-z_$][\w$.]*)[^>]*>)?")
_BEFORE_NAME = re.compile(r"([A-Za-z_][\w.:]*)(?:<[^()]*>)?[\s*&?]+(?:[\w.:~]+::)?~?[\w]+\s*\(")
_GO_RESULT = re.compile(r"\)\s*\(?\s*(?:\w+\s+)?\**(?:\[\])?([A-Za-z_][\w.]*)(?![\w.]*\()")
_WRAPPERS = frozenset(
    {"Optional", "Awaitable", "Result", "Option", "Box", "Rc", "Arc", "Promise", "Annotated", "Type", "type"}
)


def returned(symbol: Symbol, language: str) -> str:
    """The type that a function says it returns, as written and without what only wraps it; "" if it says none."""
    signature = symbol.signature
    if language in ("python", "rust", "swift"):
        arrows = list(_AFTER_ARROW.finditer(signature))
        if not arrows:
            return ""
        name, inner = arrows[-1].group(1).replace("::", "."), arrows[-1].group(2) or ""
        if name.rpartition(".")[2] in _WRAPPERS and inner:
            match = re.search(r"[A-Za-z_][\w.]*", inner)
            return match.group() if match else ""
        return name
    if language in ("typescript", "tsx", "javascript", "kotlin", "scala", "php", "vue", "svelte"):
        match = _AFTER_COLON.search(signature)
        if match is None:
            return ""
        return match.group(3) if match.group(1) == "Promise" and match.group(3) else match.group(1)
    if language in ("java", "csharp", "cpp", "c", "dart"):
        match = _BEFORE_NAME.search(signature)
        return match.group(1).replace("::", ".") if match else ""
    if language == "go":
        end = signature.rfind(")", 0, len(signature) - 1)
        match = _GO_RESULT.match(signature, end) if end >= 0 else None
        return match.group(1) if match else ""
    return ""
