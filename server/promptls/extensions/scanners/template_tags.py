"""Scanner of templates: named blocks and macros between the tags of template engines.

Recognized are Jinja, Django, Twig, Nunjucks and Liquid ("{% block name %}"), Go and Handlebars ("{{ define "name" }}"),
Mako ("<%def name="name()">") and FreeMarker ("<#macro name>"), and the tests, snapshots and materializations of dbt.
"""

from __future__ import annotations

import re

from promptls.index.syntax.jinja import blank_tags
from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

_TAG = re.compile(
    rb"\{%[-~+]?\s*(?P<tag>(?:end)?(?:block|macro|capture|component|snippet|embed|schema|cache|call|if|for|with|filter|set|test|snapshot|materialization))\b"
    rb"(?:[ \t]+['\"]?(?P<tag_name>[\w.-]+))?[^%]{0,2000}%\}"
    rb"|\{\{[-~]?\s*(?P<go>define|block|end|if|range|with)\b(?:[ \t]+\"(?P<go_name>[^\"\n]{1,100})\")?[^\n}]{0,300}\}\}"
    rb"|\{\{(?P<inline>#\*inline|/inline)(?:[ \t]+\"(?P<inline_name>[^\"\n]{1,100})\")?[^\n}]{0,100}\}\}"
    rb"|<(?P<mako>%def|%block|/%def|/%block)(?:\s+name=\"(?P<mako_name>\w{1,100}))?\b[^\n>]{0,300}>"
    rb"|<(?P<ftl>#macro|#function|/#macro|/#function)(?:[ \t]+(?P<ftl_name>\w{1,100}))?[^\n>]{0,300}>",
)
_KINDS = {
    b"macro": "macro", b"test": "macro", b"materialization": "macro", b"snapshot": "table", b"#macro": "macro",
    b"#function": "function", b"%def": "function", b"block": "block", b"capture": "block", b"define": "block",
    b"#*inline": "block", b"%block": "block",
}  # fmt: skip
"""Kind of the symbol by the word of a tag that defines something."""

_OPENING_GO = frozenset({b"define", b"block", b"if", b"range", b"with"})


def scan_templates(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the named blocks and macros of a template."""
    drafts: list[SymbolDraft] = []
    open_tags: list[tuple[bytes, SymbolDraft | None]] = []
    for match in _TAG.finditer(blank_tags(source.data, b"{#")):
        engine = next(name for name in ("tag", "go", "inline", "mako", "ftl") if match.group(name))
        word = match.group(engine)
        if word.startswith((b"end", b"/")):
            _close(open_tags, b"" if word == b"end" else word.removeprefix(b"end").lstrip(b"/"), match.end())
            continue
        name = match.group(f"{engine}_name")
        draft = None
        if name and word in _KINDS:
            text = name.decode("utf-8", "replace")
            draft = new_draft(
                _KINDS[word], text, match.start(f"{engine}_name"), match.start(), match.end(), match.end()
            )
            drafts.append(draft)
        if engine != "go" or word in _OPENING_GO:
            open_tags.append((word, draft))
    return drafts


def _close(open_tags: list[tuple[bytes, SymbolDraft | None]], word: bytes, end: int) -> None:
    """End the innermost open tag; tags without an end, such as "set", are skipped."""
    while open_tags:
        opened, draft = open_tags.pop()
        if word and opened.lstrip(b"#*%") != word.lstrip(b"#*%"):
            continue
        if draft is not None:
            draft.end = end
            draft.node = draft.start, end, 0
            if draft.body is not None:
                draft.body = draft.body[0], end, 0
        return
