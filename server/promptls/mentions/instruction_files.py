"""Instruction files for coding agents, checked like code: what they refer to must exist.

AGENTS.md, CLAUDE.md, rules of editors, skills and `*.instructions.md` name files, folders, definitions, scripts and make
targets. `find_references` finds these names in the Markdown, `check_reference` resolves one of them.

A name is reported as missing only if it cannot mean something else: a path if git knows its new name, if its folder
exists, or if it is an import, a link or a glob of the front matter; a definition if no other file of the workspace
contains the word; a script or target if there is a manifest that could have it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct

from promptls.index import ignored_paths, match_globs, tokenize
from promptls.knowledge.project.manifests import decode_json, get_table
from promptls.knowledge.rule_filters import as_list, expand_braces, normalize_key, parse_front_matter
from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import find_files, find_on_disk, renamed_path, suggest_path
from promptls.mentions.resolvers.symbol import Definition, filter_matching, refs_named
from promptls.mentions.syntax.grammar import is_path_like
from promptls.model import Span
from promptls.model.files import is_instruction_file
from promptls.util.cancellation import check_each

Kind = Literal["import", "link", "path", "glob", "command", "symbol"]

MAX_REFERENCES = 2_000
"""Maximum number of references of one file."""

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([\w-]*)")
_SHELL = frozenset({"", "sh", "bash", "shell", "console", "zsh", "shellsession", "powershell"})
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?[^)\n]*\)")
_IMPORT = re.compile(r"(?:^|(?<=[\s(]))@((?:\.{1,2}/)?[\w.-]+(?:/[\w.-]+)*\.\w+)")
_COMMAND = re.compile(
    r"(?:^|(?<=[\s;&|(]))(make|(?:npm|pnpm|yarn|bun) run|npm run-script)((?:[ \t]+-[\w=/.-]+)*)[ \t]+([\w:.-]+)"
)
_PATH = re.compile(r"(?:\./)?[\w@.+-]+(?:/[\w@.+*?{},\[\]-]+)*/?")
_PLACEHOLDER = re.compile(
    r"[<>$…]|\.\.\.|(?i:\b(?:xxx+|foo|bar|baz|example|path/to|your)\b)|\b[A-Z]{2,}_[A-Z_]+\b|YYYY|\bMy[A-Z]"
)
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*(?:\(\))?")
_TARGETS = re.compile(r"^([^\s:#=%.][^:#=%\n]*?)[ \t]*::?(?!=)", re.MULTILINE)
_GLOB_KEYS = frozenset({"globs", "glob", "paths", "applyto"})


class Reference(Struct, frozen=True):
    """A name in an instruction file."""

    kind: Kind
    start: int  # offsets in the text
    end: int
    text: str


class Finding(Struct, frozen=True):
    """The target of a reference, or the problem if it has none."""

    reference: Reference
    path: str = ""  # absolute, "" if it leads to no file
    span: Span = Span(0, 0)
    problem: str = ""  # sentence about a missing target
    suggestion: str = ""  # text that replaces the reference


# ---------------------------------------------------------------- references


def find_references(text: str) -> list[Reference]:
    """Return the references of an instruction file in their order."""
    found: list[Reference] = []
    for reference in check_each(_references(text)):
        if len(found) >= MAX_REFERENCES:
            break
        found.append(reference)
    return found


def _references(text: str) -> Iterator[Reference]:
    body = len(text) - len(parse_front_matter(text).body) if text.startswith("---") else 0
    if body:
        yield from _globs(text[:body])
    at, fence, language = body, "", ""
    for line in text[body:].split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            elif language in _SHELL:
                yield from _commands(line, at)
        elif mark:
            fence, language = mark[1], mark[2].lower()
        else:
            yield from sorted(_in_prose(line, at), key=lambda one: one.start)
        at += len(line) + 1


def _globs(front_matter: str) -> Iterator[Reference]:
    """Yield the globs of front matter; one that is not written as it is parsed is left out."""
    fields = parse_front_matter(front_matter + "\n").fields
    for key, value in fields.items():
        for glob in as_list(value) if normalize_key(key) in _GLOB_KEYS else ():
            start = front_matter.find(glob)
            if start >= 0 and not glob.startswith("!"):
                yield Reference("glob", start, start + len(glob), glob)


def _in_prose(line: str, at: int) -> Iterator[Reference]:
    code = [(match.start(2), match.end(2)) for match in _CODE.finditer(line)]

    def is_code(position: int) -> bool:
        return any(start - 1 <= position < end + 1 for start, end in code)

    for match in _LINK.finditer(line):
        if not is_code(match.start()) and not re.match(r"[a-z][\w+.-]*:|#|//", match[1], re.I):
            yield Reference("link", at + match.start(1), at + match.end(1), match[1])
    for match in _IMPORT.finditer(line):
        if not is_code(match.start(1)):
            yield Reference("import", at + match.start(1), at + match.end(1), match[1])
    for start, end in code:
        content = line[start:end]
        commands = list(_commands(content, at + start))
        yield from commands
        if not commands and not _PLACEHOLDER.search(content):
            yield from _in_code(content.strip(), at + start + len(content) - len(content.lstrip()))


def _commands(text: str, at: int) -> Iterator[Reference]:
    for match in _COMMAND.finditer(text):
        if "=" not in match[3] and not re.match(r"\s*=", text[match.end(3) :]):
            yield Reference("command", at + match.start(), at + match.end(3), f"{match[1]} {match[3]}")


def _in_code(content: str, at: int) -> Iterator[Reference]:
    """Yield the path or the name in a code span; a command line may begin with a script."""
    first = content.split(" ", 1)[0]
    if " " in content and not (first.startswith(("./", "scripts/", "bin/", "tools/")) and is_path_like(first)):
        return
    path, _, _ = first.partition("#")
    path = re.sub(r":\d+(?:-\d+)?$", "", path)
    if _PATH.fullmatch(path) and (is_path_like(path) or path.endswith("/")):
        yield Reference("path", at, at + len(path), path)
    elif " " not in content and _SYMBOL.fullmatch(content) and _is_name_of_code(content):
        name = content.removesuffix("()")
        yield Reference("symbol", at, at + len(name), name)


def _is_name_of_code(text: str) -> bool:
    """Return whether a word has the form of a definition: `save_all`, `saveAll`, `SaveAll`, `save()`, `Store.save`."""
    return text.endswith("()") or re.search(r"\w_\w|[a-z][A-Z]|\w(?:\.|::|#)\w", text) is not None


# ---------------------------------------------------------------- targets


def check_file(text: str, path: str, context: ResolveContext) -> list[Finding]:
    """Resolve the references of the instruction file `path`."""
    return [check_reference(reference, path, context) for reference in check_each(find_references(text))]


def check_reference(reference: Reference, path: str, context: ResolveContext) -> Finding:
    """Resolve a reference of the instruction file `path`."""
    if reference.kind == "glob":
        return _check_glob(reference, path, context)
    if reference.kind == "command":
        return _check_command(reference, path, context)
    if reference.kind == "symbol":
        return _check_symbol(reference, path, context)
    return _check_path(reference, path, context)


def _check_path(reference: Reference, path: str, context: ResolveContext) -> Finding:
    snapshot = context.snapshot
    root = snapshot.root_of(path)
    written = unquote(reference.text.partition("#")[0].partition("?")[0])
    if root is None or not written or written.startswith("~"):
        return Finding(reference)
    if any(char in written for char in "*?{["):
        return _check_glob(reference, path, context)
    folder = posixpath.dirname(path)
    bases = [root.path] if written.startswith("/") else list(dict.fromkeys((folder, root.path)))
    for base in bases:
        target = posixpath.normpath(f"{base}/{written.lstrip('/')}")
        if target in snapshot.files or find_on_disk(context, target, (root,)) is not None:
            return Finding(reference, target if target in snapshot.files else "")
    found = find_files(context, written, (root,)).paths if reference.kind == "path" else ()
    if found:
        return Finding(reference, found[0] if len(found) == 1 else "")
    names = [name for base in bases if (name := _name_below(root.path, f"{base}/{written.lstrip('/')}"))]
    renamed = next((new for name in names if (new := renamed_path(context, name, (root,)))), "")
    if renamed:
        new = posixpath.relpath(renamed, folder if reference.kind in ("link", "import") else root.path)
        return Finding(reference, problem=f"{written} was renamed to {snapshot.label(renamed)}.", suggestion=new)
    if reference.kind == "path" and not _is_certain(written, names, root.path, context):
        return Finding(reference)
    if ignored_paths(root.path, [f"{root.path}/{name}" for name in names], context.sources.limits):
        return Finding(reference)  # such as the output of a build
    similar = suggest_path(context, written, (root,), confident=True).removeprefix("@")
    if similar.endswith("/") != written.endswith("/"):
        similar = ""  # the folder that a missing file would be in
    hint = f" Did you mean {similar}?" if similar else ""
    return Finding(reference, problem=f"{written} does not exist.{hint}", suggestion=similar)


def _name_below(root: str, path: str) -> str:
    """Return the name of a path below a root, "" for a path outside."""
    name = posixpath.relpath(posixpath.normpath(path), root)
    return "" if name.startswith("..") else name


def _is_certain(written: str, names: list[str], root: str, context: ResolveContext) -> bool:
    """Return whether a path in a code span can only be a file of the workspace: its folder exists."""
    folder = posixpath.dirname(written.rstrip("/"))
    if not folder or folder in (".", ".."):
        return False
    folders = {f"{root}/{posixpath.dirname(name.rstrip('/'))}" for name in names}
    return any(context.path_index.children(one) for one in folders)


def _check_glob(reference: Reference, path: str, context: ResolveContext) -> Finding:
    snapshot = context.snapshot
    root = snapshot.root_of(path)
    if root is None:
        return Finding(reference)
    globs = [one.removeprefix("./") for one in expand_braces(reference.text)]
    names = (entry.name for entry in snapshot.files.values() if entry.root == root.path)
    if not globs or match_globs(names, globs):
        return Finding(reference)
    if reference.kind == "path" and not context.path_index.children(f"{root.path}/{_first_folder(reference.text)}"):
        return Finding(reference)
    return Finding(reference, problem=f"No file matches {reference.text}.")


def _first_folder(glob: str) -> str:
    """Return the first folder of a glob, "" if it is not fixed."""
    first, slash, _ = glob.removeprefix("./").partition("/")
    return first if slash and not any(char in first for char in "*?{[") else ""


def _check_symbol(reference: Reference, path: str, context: ResolveContext) -> Finding:
    snapshot = context.snapshot
    name = reference.text
    refs = refs_named(snapshot, name)
    definitions = [Definition(ref[0], symbol) for ref in refs if (symbol := snapshot.symbol(ref)) is not None]
    matching = filter_matching(name, definitions)
    if matching:
        first = matching[0]
        single = len({one.path for one in matching}) == 1
        return Finding(reference, first.path if single else "", first.symbol.span if single else Span(0, 0))
    last = re.split(r"\.|::|#", name)[-1]
    if not context.index_complete or not _is_absent(last, context):
        return Finding(reference)
    return Finding(reference, problem=f"Nothing in the workspace has the name {last}.")


def _is_absent(word: str, context: ResolveContext) -> bool:
    """Return whether no file but instruction files contains a word."""
    reader = context.index.reader()
    terms = list(tokenize(word))
    if not terms:
        return False
    rows = reader.postings(terms[-1]).rows.tolist()  # the last term is the whole word
    return all(is_instruction_file(at) for row in rows for at, _ in reader.locations(row))


def _check_command(reference: Reference, path: str, context: ResolveContext) -> Finding:
    runner, _, name = reference.text.rpartition(" ")
    manifest = "Makefile" if runner == "make" else "package.json"
    where = ""
    for file in _manifests(manifest, path, context):
        text = context.sources.read_text(file)
        if not isinstance(text, str):
            continue
        where = where or file
        found = _make_targets(text) if runner == "make" else _scripts(text)
        if found is None or name in found:
            return Finding(reference, file)
    if not where:
        return Finding(reference)
    what = "target" if runner == "make" else "script"
    return Finding(reference, problem=f"{context.snapshot.label(where)} has no {what} {name}.")


def _manifests(name: str, path: str, context: ResolveContext) -> list[str]:
    """Return the files with a name, those in the folder of the instruction file and above it first."""
    snapshot = context.snapshot
    root = snapshot.root_of(path)
    names = ("Makefile", "makefile", "GNUmakefile") if name == "Makefile" else (name,)
    found = [file for one in names for file in snapshot.basenames.get(one.lower(), ())]
    below = [file for file in dict.fromkeys(found) if root is not None and file.startswith(f"{root.path}/")]
    return sorted(below, key=lambda file: (not path.startswith(f"{posixpath.dirname(file)}/"), file.count("/"), file))


def _make_targets(text: str) -> set[str] | None:
    """Return the targets of a makefile; None if it includes others or computes targets."""
    if re.search(r"^-?s?include\b|^\$[({]", text, re.MULTILINE):
        return None
    return {name for match in _TARGETS.finditer(text) for name in match[1].split()}


def _scripts(text: str) -> set[str] | None:
    """Return the scripts of a package; None if the manifest is malformed."""
    try:
        return set(get_table(decode_json(text), "scripts"))
    except (ValueError, RecursionError):
        return None
