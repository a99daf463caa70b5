"""HCL: Terraform and other HashiCorp configuration."""

from __future__ import annotations

from promptls.languages.language import Language

HCL = Language(
    name="hcl",
    aliases=("terraform",),
    extensions=("hcl", "tf", "tfvars"),
    pack_grammar="hcl",
    legacy_grammar="hcl",
    query_files=("hcl",),
    mask="hcl",
    line_comments=("#",),
    member_calls={"locals": "variable"},
    block_prefixes={
        "data": "data",
        "ephemeral": "ephemeral",
        "locals": "local",
        "resource": "",
        "variable": "var",
    },
    imports_are_paths=True,
    names_without_import=True,
)
