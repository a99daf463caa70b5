"""Templates: markup with code of another language, or with the tags of a template engine."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.languages.data_formats import HTML
from promptls.languages.ecmascript import VUE

ASTRO = replace(VUE, name="astro", extensions=("astro",), mask="front_matter")

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

RAZOR = replace(
    _TEMPLATE, name="razor", aliases=("cshtml", "blazor", "aspnetcorerazor"), extensions=("cshtml", "razor")
)

GO_TEMPLATE = replace(_TEMPLATE, name="gotemplate", extensions=("gotmpl", "gohtml", "tmpl", "gotpl", "tpl"))
