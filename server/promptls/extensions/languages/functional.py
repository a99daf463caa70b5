"""Functional languages."""

from __future__ import annotations

from promptls.languages.language import Language

ERLANG = Language(
    name="erlang",
    aliases=("erl",),
    extensions=("erl", "hrl", "escript", "yrl", "xrl"),
    file_names=("rebar.config", "rebar.config.script"),
    shebangs=("escript",),
    pack_grammar="erlang",
    query_files=("erlang",),
    line_comments=("%",),
    names_without_import=True,
)

FSHARP = Language(
    name="fsharp",
    aliases=("f#",),
    extensions=("fs", "fsx", "fsscript"),
    pack_grammar="fsharp",
    query_files=("fsharp",),
    line_comments=("//",),
    block_comments=(("(*", "*)"),),
    name_separators=(".",),
    names_without_import=True,
)

FSHARP_SIGNATURE = Language(
    name="fsharp_signature",
    dialect_of="fsharp",
    extensions=("fsi",),
    name_separators=(".",),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("(*", "*)"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:static[ \t]+|abstract[ \t]+)?(?:val|member)[ \t]+(?:inline[ \t]+|mutable[ \t]+)?(?P<name>\w+)[ \t]*:",
        ),
        ("type", r"[ \t]*(?:type|and)[ \t]+(?P<name>[A-Z]\w*)"),
        ("module+", r"(?:module|namespace)[ \t]+(?:rec[ \t]+)?(?P<name>[A-Z][\w.]*)[ \t]*$"),
        ("module", r"[ \t]*(?:module|namespace)[ \t]+(?:rec[ \t]+)?(?P<name>[A-Z][\w.]*)"),
    ),
    names_without_import=True,
)

ELM = Language(
    name="elm",
    extensions=("elm",),
    pack_grammar="elm",
    query_files=("elm",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
)

PURESCRIPT = Language(
    name="purescript",
    aliases=("purs",),
    extensions=("purs",),
    pack_grammar="purescript",
    query_files=("purescript",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
)

GLEAM = Language(
    name="gleam",
    extensions=("gleam",),
    pack_grammar="gleam",
    query_files=("gleam",),
    line_comments=("//",),
)

RESCRIPT = Language(
    name="rescript",
    aliases=("reason", "reasonml"),
    extensions=("res", "resi", "re", "rei"),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]{0,8}let[ \t]+(?:rec[ \t]+)?(?P<name>[a-z_]\w*)[ \t]*=[ \t]*(?:async[ \t]+)?(?:\([^\n]{0,120}=>|\w+[ \t]*=>|\([ \t]*$)",
        ),
        ("constant", r"let[ \t]+(?:rec[ \t]+)?(?P<name>[a-z_]\w*)[ \t]*[:=]"),
        ("function", r"(?:@[\w.]+(?:\([^)\n]{0,80}\))?[ \t]+){0,4}external[ \t]+(?P<name>\w+)[ \t]*:"),
        ("type", r"[ \t]{0,8}type[ \t]+(?:rec[ \t]+)?(?P<name>[a-z_]\w*)"),
        ("module", r"[ \t]{0,8}module[ \t]+(?:type[ \t]+|rec[ \t]+)?(?P<name>[A-Z]\w*)"),
    ),
    names_without_import=True,
)

STANDARD_ML = Language(
    name="sml",
    aliases=("standard-ml",),
    extensions=("sml",),
    scanner="lines",
    line_comments=(),
    block_comments=(("(*", "*)"),),
    definition_patterns=(
        ("function", r"[ \t]*fun[ \t]+(?:'\w+[ \t]+)?(?P<name>[a-zA-Z_][\w']*)"),
        ("constant", r"[ \t]{0,4}val[ \t]+(?:rec[ \t]+)?(?P<name>[a-zA-Z_][\w']*)"),
        (
            "type",
            r"[ \t]*(?:datatype|type|eqtype|exception)[ \t]+(?:\([^)\n]{0,60}\)[ \t]*|'\w+[ \t]+)?(?P<name>[a-zA-Z_][\w']*)",
        ),
        ("module", r"[ \t]*(?:structure|signature|functor)[ \t]+(?P<name>[A-Z]\w*)"),
    ),
    names_without_import=True,
)

COQ = Language(
    name="coq",
    aliases=("rocq",),
    extensions=("gallina",),
    shared_extensions=(
        ("v", r"^(?:Theorem|Lemma|Definition|Require|Inductive|Proof|From|Fixpoint|Section)\b[^;]*\.?[ \t]*$"),
    ),
    scanner="lines",
    line_comments=(),
    block_comments=(("(*", "*)"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:#\[[^\]\n]{0,60}\][ \t]*)?(?:(?:Local|Global|Program)[ \t]+){0,2}(?:Definition|Fixpoint|CoFixpoint|Theorem|Lemma|Corollary|Fact|Remark|Proposition|Example|Instance|Let)[ \t]+(?P<name>[\w.']+)",
        ),
        ("type", r"[ \t]*(?:Inductive|CoInductive|Record|Structure|Class|Variant)[ \t]+(?P<name>[\w']+)"),
        ("module", r"[ \t]*(?:Module|Section)[ \t]+(?:Type[ \t]+|Import[ \t]+)?(?P<name>[A-Z][\w']*)"),
    ),
    names_without_import=True,
)

LEAN = Language(
    name="lean",
    extensions=("lean",),
    scanner="lines",
    line_comments=("--",),
    block_comments=(("/-", "-/"),),
    definition_patterns=(
        ("function", r"[ \t]*(?:@\[[^\]\n]{0,80}\][ \t]*)?(?:(?:private|protected|noncomputable|partial|unsafe)[ \t]+){0,3}(?:def|theorem|lemma|abbrev|opaque|axiom|instance)[ \t]+(?P<name>[\w.'!?]+)"),
        ("type", r"[ \t]*(?:inductive|structure|class)[ \t]+(?:inductive[ \t]+)?(?P<name>[\w.']+)"),
    ),
    names_without_import=True,
)  # fmt: skip
