"""Held-out projects: the model is never trained on the projects that the evaluations use.

A package is held out if a word of its name is in `NAMES` or its name starts with one of `PREFIXES`. A file is held out
if a folder above it has such a name (a vendored copy). Bodies that occur in a held-out project are dropped from all
packages: see `extract`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAMES = frozenset(
    # the development corpora
    "flask pytest werkzeug psycopg2 psycopg rxjs fastify cobra regex thor penlight grpc tokio uvloop effect "
    "sqlalchemy pandas ansible webpack "
    # the repositories of the semble benchmark
    "chi gin axum serde zod trpc vitest express libuv fmtlib fmt rack sinatra monolog fastapi pydantic aiohttp "
    "phoenix lang3 ktor exposed alamofire "
    # well-known projects that other tests use, and the packages that they consist of
    "django celery scrapy rails railties activerecord activesupport actionpack actionview actionmailer activemodel "
    "activejob activestorage laravel illuminate kafka hugo caddy traefik etcd ripgrep fd nushell nu vite nest nestjs "
    "excalidraw vscode redis hiredis memcached jq curl libcurl git gson okhttp junit junit4 junit5 guava ecto".split()
)

PREFIXES = (
    "commons-lang",
    "libcommons-lang",
    "librust-axum",
    "librust-globset",
    "librust-grep",
    "librust-ignore",
    "librust-nu-",
    "librust-regex",
    "librust-serde",
    "librust-tokio",
)

_SPLIT = re.compile(r"[-./@_+]+")


def held_out(package: str) -> bool:
    """Return whether a package of this name is held out."""
    words = _SPLIT.split(package.lower())
    return not NAMES.isdisjoint(words) or package.lower().startswith(PREFIXES)


def vendored(folders: Iterable[str]) -> bool:
    """Return whether a folder of the file has the name of a held-out project."""
    for folder in folders:
        name = folder.lower()
        if name in NAMES or re.sub(r"[-_]?v?\d[\d.]*$", "", name) in NAMES or name.startswith("commons-lang"):
            return True
    return False
