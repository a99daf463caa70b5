"""Functional languages."""

from __future__ import annotations

from promptls.extensions.languages import CALL_WITH_PARENTHESES, outlined

ERLANG = outlined(
    "erlang",
    "erl hrl escript yrl xrl",
    aliases=("erl",),
    file_names=("rebar.config", "rebar.config.script"),
    shebangs=("escript",),
    line_comments=("%",),
)

FSHARP = outlined(
    "fsharp",
    "fs fsx fsscript",
    aliases=("f#",),
    line_comments=("//",),
    block_comments=(("(*", "*)"),),
    name_separators=(".",),
)

ELM = outlined("elm", "elm", line_comments=("--",), block_comments=(("{-", "-}"),), names_without_import=False)

GLEAM = outlined("gleam", "gleam", line_comments=("//",), names_without_import=False)

FSHARP_SIGNATURE = outlined(
    "fsharp_signature",
    "fsi",
    dialect_of="fsharp",
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
)

PURESCRIPT = outlined(
    "purescript",
    "purs",
    aliases=("purs",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
    names_without_import=False,
)

RESCRIPT = outlined(
    "rescript",
    "res resi re rei",
    aliases=("reason", "reasonml"),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
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
)

STANDARD_ML = outlined(
    "sml",
    "sml",
    aliases=("standard-ml",),
    scanner="lines",
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
)

COQ = outlined(
    "coq",
    "gallina",
    aliases=("rocq",),
    shared_extensions=(
        ("v", r"^(?:Theorem|Lemma|Definition|Require|Inductive|Proof|From|Fixpoint|Section)\b[^;]*\.?[ \t]*$"),
    ),
    scanner="lines",
    block_comments=(("(*", "*)"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:#\[[^\]\n]{0,60}\][ \t]*)?(?:(?:Local|Global|Program)[ \t]+){0,2}(?:Definition|Fixpoint|CoFixpoint|Theorem|Lemma|Corollary|Fact|Remark|Proposition|Example|Instance|Let)[ \t]+(?P<name>[\w.']+)",
        ),
        ("type", r"[ \t]*(?:Inductive|CoInductive|Record|Structure|Class|Variant)[ \t]+(?P<name>[\w']+)"),
        ("module", r"[ \t]*(?:Module|Section)[ \t]+(?:Type[ \t]+|Import[ \t]+)?(?P<name>[A-Z][\w']*)"),
    ),
)

LEAN = outlined(
    "lean",
    "lean",
    scanner="lines",
    line_comments=("--",),
    block_comments=(("/-", "-/"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:@\[[^\]\n]{0,80}\][ \t]*)?(?:(?:private|protected|noncomputable|partial|unsafe)[ \t]+){0,3}(?:def|theorem|lemma|abbrev|opaque|axiom|instance)[ \t]+(?P<name>[\w.'!?]+)",
        ),
        ("type", r"[ \t]*(?:inductive|structure|class)[ \t]+(?:inductive[ \t]+)?(?P<name>[\w.']+)"),
    ),
)
