"""The settings as each editor declares them, generated from `promptls.settings`, so that they cannot differ.

VS Code: the second group of `contributes.configuration` in package.json.  Neovim: a file of LuaCATS types.
Emacs: a file of defcustoms, and the function that turns them into what the server is told.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from promptls import settings


class Setting(Struct, frozen=True):
    """One setting, as JSON schema speaks of it."""

    section: str
    name: str
    schema: dict[str, Any]
    default: Any
    description: str
    trusted: bool  # counts only in the user's own settings


def all_settings() -> Iterator[Setting]:
    """Every setting in the order of the code."""
    for section, (_, kind) in settings.sections().items():
        hints = get_type_hints(kind, include_extras=True)
        for field in msgspec.structs.fields(kind):
            metas = getattr(hints[field.name], "__metadata__", ())
            meta = next((m for m in metas if getattr(m, "description", None)), None)
            assert meta is not None, f"{section}.{field.name} has no description"
            full = f"{section}.{field.encode_name}"
            default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            yield Setting(
                section,
                field.encode_name,
                _schema(hints[field.name]),
                msgspec.json.decode(msgspec.json.encode(default)),
                meta.description,
                not {section, full}.isdisjoint(settings.TRUSTED),
            )


def _schema(hint: Any) -> dict[str, Any]:
    """JSON schema of a field's type, as far as settings use it."""
    out = {k: v for k, v in msgspec.json.schema(hint).items() if k not in ("description", "default")}
    if "anyOf" in out:
        parts = out.pop("anyOf")
        merged = {k: v for part in parts for k, v in part.items() if k != "type"}
        out |= merged | {"type": [part["type"] for part in parts]}
    if "enum" in out:
        out["type"] = "string"
    if "items" in out and "enum" in out["items"]:
        out["items"]["type"] = "string"
    return out


# ---- VS Code


def package_json(text: str) -> str:
    """package.json with the server's settings made anew."""
    package = json.loads(text)
    group = {
        "title": "Server",
        "properties": {
            f"promptls.{s.section}.{s.name}": {
                **s.schema,
                "default": s.default,
                "markdownDescription": s.description,
                "scope": "machine" if s.trusted else "resource",
            }
            for s in all_settings()
        },
    }
    groups = package["contributes"]["configuration"]
    package["contributes"]["configuration"] = [g for g in groups if g.get("title") != "Server"] + [group]
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


# ---- Neovim


def lua_types(_: str) -> str:
    """lua/promptls/settings.lua"""
    out = [
        "-- Written by scripts/docs from the server's code; do not edit.",
        "-- Types only: what `settings.promptls` of `vim.lsp.config('promptls', …)` may hold.",
        "",
    ]
    sections: dict[str, list[Setting]] = {}
    for setting in all_settings():
        sections.setdefault(setting.section, []).append(setting)
    for section, members in sections.items():
        out.append(f"---@class promptls.settings.{_camel(section)}")
        for s in members:
            note = s.description + (" Only in your own settings." if s.trusted else "")
            out.append(f"---@field {s.name}? {_lua(s.schema)} {note} Default: {json.dumps(s.default)}")
        out.append("")
    out.append("---@class promptls.Settings")
    out += [f"---@field {section}? promptls.settings.{_camel(section)}" for section in sections]
    return "\n".join([*out, "", "return {}", ""])


def _camel(name: str) -> str:
    return name[0].upper() + name[1:]


def _lua(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(f"'{value}'" for value in schema["enum"])
    kind = schema["type"]
    if isinstance(kind, list):
        return "|".join(_lua({**schema, "type": one}) for one in kind if one != "null")
    if kind == "array":
        inner = _lua(schema["items"])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        return f"table<string, {_lua(schema['additionalProperties'])}>"
    return {"integer": "integer", "number": "number", "boolean": "boolean", "string": "string"}[kind]


# ---- Emacs


def elisp(_: str) -> str:
    """promptls-settings.el"""
    out = [
        ";;; promptls-settings.el --- Settings of the prompt language server  -*- lexical-binding: t; -*-",
        "",
        ";; SPDX-License-Identifier: Apache-2.0",
        "",
        ";;; Commentary:",
        "",
        ";; Written by scripts/docs from the server's code; do not edit.",
        "",
        ";;; Code:",
        "",
        "(defgroup promptls nil",
        '  "The prompt language server."',
        "  :group 'tools",
        '  :link \'(url-link :tag "Read me" "README.md"))',
        "",
    ]
    table = []
    for s in all_settings():
        variable = f"promptls-{_kebab(s.section)}-{_kebab(s.name)}"
        doc = s.description.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\\\=`").replace("'", "\\\\='")
        whole = doc if doc.endswith(".") else doc + "."
        rest = [] if len(whole) <= 78 else textwrap.wrap(whole, 78)
        body = "\n".join([f"The server's setting {s.section}.{s.name}.", *rest] if rest else [whole])
        out += [
            f"(defcustom {variable} {_lisp(s.default)}",
            f'  "{body}"',
            f"  :type {_custom(s)}",
            "  :group 'promptls)",
            "",
        ]
        own = " trusted" if s.trusted else ""
        table.append(f'    ("{s.section}.{s.name}" {variable} {_shape(s.schema)}{own})')
    out += [
        "(defconst promptls-settings",
        "  '(" + "\n".join(table).lstrip() + ")",
        '  "Each setting of the server: name, variable, shape and marks.")',
        "",
        "(provide 'promptls-settings)",
        ";;; promptls-settings.el ends here",
        "",
    ]
    return "\n".join(out)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _lisp(value: Any) -> str:
    if value is None or value is False or value in ([], {}):
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, list):
        return "'(" + " ".join(_lisp(v) for v in value) + ")"
    return json.dumps(value) if isinstance(value, str) else str(value)


def _shape(schema: dict[str, Any]) -> str:
    """How a value of Lisp becomes JSON."""
    kind = schema["type"]
    return (
        "nullable"
        if isinstance(kind, list)
        else {"array": "array", "object": "object", "boolean": "boolean"}.get(kind, "plain")
    )


def _custom(s: Setting) -> str:
    schema, kind = s.schema, s.schema["type"]
    if "enum" in schema:
        return "'(choice " + " ".join(f'(const "{value}")' for value in schema["enum"]) + ")"
    if isinstance(kind, list):
        return '\'(choice (const :tag "By default" nil) number)'
    if kind == "array":
        return "'(repeat string)"
    if kind == "object":
        return "'(alist :key-type string :value-type (repeat string))"
    return {"integer": "'integer", "number": "'number", "boolean": "'boolean", "string": "'string"}[kind]
