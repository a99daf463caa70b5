"""Templates: markup with code of another language, or with the tags of a template engine."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.languages.csharp import CSHARP
from promptls.languages.data_formats import HTML
from promptls.languages.ecmascript import VUE
from promptls.languages.language import Language

ASTRO = replace(VUE, name="astro", extensions=("astro",), mask="front_matter")

RAZOR = replace(
    CSHARP,
    name="razor",
    aliases=("cshtml", "blazor", "aspnetcorerazor"),
    extensions=("cshtml", "razor"),
    mask="razor",
    reserved_names=frozenset("@"),  # the name of the class "_" in the text
)

_TEMPLATE = replace(HTML, aliases=(), extensions=(), block_comments=(("{#", "#}"), ("<!--", "-->")))

JINJA = replace(
    _TEMPLATE,
    name="jinja",
    aliases=("jinja2", "nunjucks", "django"),
    extensions=("jinja", "jinja2", "j2", "njk", "nunjucks"),
)

TWIG = replace(_TEMPLATE, name="twig", extensions=("twig",))

LIQUID = replace(_TEMPLATE, name="liquid", extensions=("liquid",))

ERB = replace(
    _TEMPLATE, name="erb", aliases=("ejs", "eex", "heex"), extensions=("erb", "rhtml", "ejs", "eex", "leex", "heex")
)

HANDLEBARS = replace(_TEMPLATE, name="handlebars", aliases=("mustache",), extensions=("hbs", "handlebars", "mustache"))

GO_TEMPLATE = replace(_TEMPLATE, name="gotemplate", extensions=("gotmpl", "gohtml", "tmpl", "gotpl", "tpl"))

FREEMARKER = replace(_TEMPLATE, name="freemarker", extensions=("ftl", "ftlh"))

MAKO = replace(_TEMPLATE, name="mako", extensions=("mako", "mao"))

PUG = Language(
    name="pug",
    aliases=("jade",),
    extensions=("pug", "jade"),
    scanner="lines",
    line_comments=("//",),
    definition_patterns=(
        ("macro", r"[ \t]*mixin[ \t]+(?P<name>[\w-]+)"),
        ("block", r"[ \t]*(?:append|prepend|block)[ \t]+(?:append[ \t]+|prepend[ \t]+)?(?P<name>[\w-]+)[ \t]*$"),
    ),
)
