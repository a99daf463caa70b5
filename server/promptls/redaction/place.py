"""Kinds of files by name: what a value without quotes can be, and how sure a password must be."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from promptls.languages import PLAIN_TEXT, language_of
from promptls.model import VIRTUAL_SCHEME, FileEntry
from promptls.redaction.secret_files import secret_kind

_SETTINGS_FILE = re.compile(
    r"(?:\.(?:ya?ml|toml|ini|cfg|cnf|conf|config|properties|props|xml|json|jsonc|ipynb|har|jmx|wsdl|csproj|targets|tf|tfvars|hcl|plist|service|nmconnection|netdev|network|rdp|list"
    r"|env(?:rc)?(?:\.\w+)?)|dockerfile[^/]*|containerfile|makefile|(?:^|/)\.[\w.-]+|rc)(?: \([^()]*\))?$",
    re.IGNORECASE,
)
_TEXT_FILE = re.compile(
    r"(?:^$|(?:^|/)[\w-]+(?: \([^()]*\))?$|\.(?:sh|exp|bash|zsh|fish|bat|cmd|ps1|md|mdx|rst|adoc|txt|csv|tsv|log|out|eml|lftp|http|rest|diff|patch|sql)(?: \([^()]*\))?$)",
    re.IGNORECASE,
)
"""Commands, prose and logs, where values have no quotes."""
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|__mocks__|specs?|testdata|test[-_]?\w*|fixtures?|mocks?|e2e|cypress|playwright|samples?"
    r"|examples?|[\w-]*[-_]tests?|testing|integration-?tests?|i18n|locales?|lang|translations?)/"
    r"|[._-](?:test|spec|tests|mock|stories|e2e|it)\.\w+(?: \([^()]*\))?$|(?:^|/)(?:test_|conftest)|Tests?\.\w+$|IT\.java$",
)


_VERSION = re.compile(r" \((?!\d+\)$)[^()]*\)$")
"""End of the name of a virtual document with the text of one file: "promptls:a/.env (diff)".

Other virtual documents are terminal output, the clipboard, earlier turns and commit messages.
"""


class Place(Struct, frozen=True):
    """Kind of file that a text comes from."""

    in_settings: bool
    in_text: bool  # commands, prose, logs
    in_tests: bool  # tests, examples and translations, where most passwords are samples

    @property
    def in_code(self) -> bool:
        """True for code, where values without quotes are expressions."""
        return not (self.in_settings or self.in_text)


@lru_cache(maxsize=1024)
def place_of(origin: str) -> Place:
    """Return the kind of a file by its origin, see `origin_of`; "" for a text without a file."""
    if origin.startswith(VIRTUAL_SCHEME):
        origin = origin[len(VIRTUAL_SCHEME) :]
        if not _VERSION.search(origin):
            return Place(in_settings=False, in_text=True, in_tests=False)
    in_settings, in_text, in_tests = (p.search(origin) is not None for p in (_SETTINGS_FILE, _TEXT_FILE, _TEST_FILE))
    is_unknown = language_of(_VERSION.sub("", origin)) == PLAIN_TEXT.name
    return Place(in_settings, in_text or (is_unknown and not in_settings), in_tests)


def is_secret_file(origin: str) -> bool:
    """Return whether the name of a file, or of the file of a diff, marks it as a file of secrets."""
    return bool(origin and secret_kind(_VERSION.sub("", origin.removeprefix(VIRTUAL_SCHEME))))


def origin_of(entry: FileEntry) -> str:
    """Return what the kind of a file is judged by: its path below its root, or the path of a virtual document.

    The folders above a root belong to the machine: a clone below ~/tests/ does not consist of tests.
    """
    return entry.name if entry.root else entry.path
