"""Language detection by file name, extension, shebang line and, for shared extensions and notebooks, by content.

Also the interface files of a language, which repeat the definitions of their implementation: "cart.mli", "cart.ml".
"""

from __future__ import annotations

import re
from functools import cache

from promptls.languages.language import Language
from promptls.languages.registry import LANGUAGES, PLAIN_TEXT, UNKNOWN_CODE, language_named

_BY_EXTENSION = {extension: language.name for language in LANGUAGES.values() for extension in language.extensions}
_BY_FILE_NAME = {file_name: language.name for language in LANGUAGES.values() for file_name in language.file_names}
_BY_SHEBANG = {interpreter: language.name for language in LANGUAGES.values() for interpreter in language.shebangs}
_BY_ALIAS = {alias: language.name for language in LANGUAGES.values() for alias in (*language.aliases, language.name)}

NOTEBOOK_HEADER = "Jupyter notebook"
"""First words of the text of a notebook, before the name of its language in parentheses."""

_NOTEBOOK_LANGUAGE = re.compile(rf"\S{{1,4}} {NOTEBOOK_HEADER} \((\w+)\)")

_SHARED_EXTENSIONS: dict[str, list[tuple[str, str]]] = {}
"""(regular expression, language) by extension, for extensions that several languages use."""

for _language in LANGUAGES.values():
    for _extension, _pattern in _language.shared_extensions:
        _SHARED_EXTENSIONS.setdefault(_extension, []).append((_pattern, _language.name))

_TEXT_EXTENSIONS = frozenset(
    (
        "adoc asc asciidoc bib bbl cfg cnf cnl conf config crt csr csv dat desktop dic diff dtd editorconfig eml env err"
        " feature gitattributes gitignore gmi hist hocon htaccess iml info ini ipynb key lang ldif lock log lst man map"
        " gz zip bz2 xz zst 7z tar tgz jar war class png jpg jpeg gif ico webp bmp mp3 mp4 wav woff woff2 ttf eot pdf doc"
        " docx xls xlsx exe dll so a o bin lib pyc wasm db sqlite sqlite3 parquet pkl npy npz onnx pt"
        " mbox mo nfo ods odt ofx old opml org orig out patch pem pod po pot prefs prn properties rdf rej rels resx rng"
        " roff rss rst rtf sgml srt ssa strings sty sub sum svg tex textile tmp toc tsv txt vcf vcard vtt wiki xaml xlf"
        " xliff xmi xml xsd xsl xslt yarnrc 1 2 3 4 5 6 7 8 9 bak cls2 plist storyboard xib csproj vbproj fsproj sln props"
        " targets nuspec snap golden expected template tmpl tpl sample example dist in def rc reg inf url list words"
        " names text md5 sha1 sha256 sig pub gpg asn cls rdoc textgrid bs ltx dtx ins ics ps eps pgn fen geojson kml gpx obj mtl stl ply vmdk hex"
    ).split()
)
"""Extensions of prose, data and output, in which no definitions are searched for."""

_DATA_EXTENSIONS = frozenset(
    (
        "adoc bib cfg conf csproj csv diff env feature haml ini ino ipynb jsonl less lhs lock log make mdc mod ndjson org"
        " plist po properties rmd rst sass slim sln styl sum svg tex tsv txt wasm xml xsd xsl xslt"
    ).split()
)
"""Extensions of data and prose by which people recognize a file name."""

_ATTRIBUTE_WORDS = frozenset("as comp do for just pkg res star trigger".split())
"""Extensions that are more often the name of an attribute: "@app.trigger"."""

FILE_EXTENSIONS = (_BY_EXTENSION.keys() | _DATA_EXTENSIONS) - _ATTRIBUTE_WORDS
"""Extensions that make a dotted word a file ("app.py") instead of an attribute ("app.route")."""

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

_MAX_EXTENSION_CHARS = 12
"""Longest unknown extension that may be that of a programming language."""

_MAX_HEADER_CHARS = 64 * 1024
"""Characters of a header that are searched for C++ syntax; bounds the time of the regular expressions."""


def language_of(path: str, head: str = "") -> str:
    """Return the name of the language of a file, "text" if it is unknown.

    The file name is checked first, then the extension, then a shebang line. A ".h" file is C unless its content has
    C++ syntax. An unknown extension is code if the content is given and the extension is not one of prose or data.
    A notebook has the language of its kernel, Python if its content is not given.

    Args:
        path: Path of the file, with forward slashes.
        head: Content of the file, or its first lines; of a notebook, the text of its cells.
    """
    name = path.rsplit("/", 1)[-1]
    if name in _BY_FILE_NAME:
        return _BY_FILE_NAME[name]
    name = name.lower()
    if name in _BY_FILE_NAME:
        return _BY_FILE_NAME[name]
    stem, dot, extension = name.rpartition(".")
    if dot and extension == "ipynb":
        kernel = _NOTEBOOK_LANGUAGE.match(head)
        return language_named(kernel[1]).name if kernel else "json" if head else "python"
    shared = _language_of_shared_extension(extension, head) if dot else ""
    if shared:
        return shared
    if dot and extension in _BY_EXTENSION:
        if extension == "h" and _has_cpp_syntax(head[:_MAX_HEADER_CHARS]):
            return "cpp"
        return _BY_EXTENSION[extension]
    if stem in ("dockerfile", "containerfile", "makefile") or name.startswith(("dockerfile.", "makefile.")):
        return "make" if "makefile" in name else "dockerfile"
    if head.startswith("#!"):
        return _language_of_shebang(head.split("\n", 1)[0])
    return UNKNOWN_CODE.name if head and dot and stem and _may_be_code(extension) else PLAIN_TEXT.name


def _may_be_code(extension: str) -> bool:
    """Return whether an unknown extension may be that of a programming language."""
    is_word = extension.isalnum() and not extension[0].isdigit() and len(extension) <= _MAX_EXTENSION_CHARS
    return is_word and extension not in _TEXT_EXTENSIONS


def _language_of_shared_extension(extension: str, head: str) -> str:
    """Return the other language that uses an extension, if the content is in that language; otherwise ""."""
    for pattern, language in _SHARED_EXTENSIONS.get(extension, ()):
        if head and _compiled(pattern).search(head[:_MAX_HEADER_CHARS]) is not None:
            return language
    return ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def language_by_alias(name: str) -> Language | None:
    """Return the language of a name, alias or extension (".py"), with or without a version; None if it is unknown."""
    name = name.strip().lower()
    for candidate in (name, name.rstrip("0123456789.").rstrip("-_ ")):
        found = _BY_EXTENSION.get(candidate[1:]) if candidate.startswith(".") else _BY_ALIAS.get(candidate)
        if found is not None:
            return LANGUAGES[found]
    return None


def implementation_paths(path: str) -> tuple[str, ...]:
    """Return the paths that the implementation of an interface file can have; () for another file."""
    stem, dot, extension = path.rpartition(".")
    return tuple(f"{stem}{dot}{other}" for other in _IMPLEMENTATIONS.get(extension, ()))


def _has_cpp_syntax(header: str) -> bool:
    """Return whether a header has C++ syntax outside of comments."""
    comment, syntax = _header_patterns()
    return syntax.search(comment.sub(" ", header)) is not None


@cache
def _header_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns for C comments and for C++ syntax, compiled on first use to keep the import fast."""
    comment = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
    syntax = re.compile(
        r"^[ \t]*(?:template[ \t]*<|namespace\b[ \t]*[\w:]*[ \t]*(?:\{|$)|using[ \t]+(?:namespace\b|\w+[ \t]*=)"
        r"|(?:public|private|protected)[ \t]*:|class[ \t]+\w[^;()*]*(?:[{:]|$))|\w::~?\w",
        re.MULTILINE,
    )
    return comment, syntax


def _language_of_shebang(line: str) -> str:
    """Return the language of a line such as "#!/usr/bin/env -S python3.11 -u"."""
    for word in line[2:].split():
        program = word.rsplit("/", 1)[-1].lower()
        if program == "env" or word.startswith("-") or "=" in word:
            continue
        return _BY_SHEBANG.get(program) or _BY_SHEBANG.get(program.rstrip("0123456789."), PLAIN_TEXT.name)
    return PLAIN_TEXT.name
