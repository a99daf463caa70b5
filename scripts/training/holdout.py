"""Held-out projects: the model is never trained on the projects that the evaluations use.

A package is held out if one or several adjacent words of its name are in `NAMES`, or its name starts with one of
`PREFIXES`. A file is held out if a folder above it has such a name (a vendored copy). Bodies that occur in a held-out
project are dropped from all packages: see `extract`.
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
    # the repositories of the development questions: commit messages, explainers, issues
    "accelerate aiopg aiortc annif ansible-builder ansible-core ansible-runner apm-agent-python arq axios babi "
    "borg bottle briefcase bubbletea certbot chainlit clize cloudevents commons-lang composer "
    "conda-recipe-manager conda-smithy crosstl cx-freeze cxfreeze dask-cuda dask-jobqueue databases dishka "
    "distributed django-ninja django-two-factor-auth docling doit dvc dwave-cloud-client echo elastic-apm "
    "elasticsearch-dsl elasticsearch-dsl-py eth-account exo faraday fastagency faster-whisper fastparquet "
    "flake8-bugbear frictionless-py git-machete google-auth google-auth-library-python grpc-go hdmf hono "
    "hpc-container-maker httpx hy hydra-zen hyper icalendar icontract impacket influxdb-client "
    "influxdb-client-python jc jekyll jsoup junos-eznc jupyter-server jupyterhub jupytext jwcrypto kedro kinto "
    "kopf lark linopy locust loguru luigi markdown-it-py marshmallow meson "
    "microsoft-authentication-library-for-python ming minio-py mkdocs mne-bids mockito moto msal mutmut mwclient "
    "mypy nbformat neo4j-driver neo4j-python-driver networkx nf-core oauthenticator oil-nvim "
    "optimade-python-tools optuna orion osbuild pendulum petl plone-restapi plum poetry pre-commit-hooks prolif "
    "pulp pvl py-junos-eznc py3status pybel pydap pydough pygount pyinstrument pypdf pysaml2 pyshacl python-odml "
    "qibo ragas rally rdflib real-intent repobee responses robotframework rq sanic schema-salad scons "
    "sentence-transformers serverless-application-model sisyphus smolagents sopel sqlglot sqllineage tagstudio "
    "telescope-nvim timeseriesflattener tmux toil trl urlwatch uxarray vapor viztracer wcmatch web3-py webob "
    "wikibaseintegrator xclim yapf yfinance yt-dlp "
    # other projects that questions are asked about
    "astropy bokeh conan dask gunicorn matplotlib mitmproxy numba paramiko pylint reflex requests salt saltstack "
    "scikit-learn seaborn sklearn sphinx sqlfluff streamlink sympy twisted xarray "
    # well-known projects that other tests use, and the packages that they consist of
    "django celery scrapy rails railties activerecord activesupport actionpack actionview actionmailer activemodel "
    "activejob activestorage laravel illuminate kafka hugo caddy traefik etcd ripgrep fd nushell nu vite nest nestjs "
    "excalidraw vscode redis hiredis memcached jq curl libcurl git gson okhttp junit junit4 junit5 guava ecto".split()
)

PREFIXES = (
    "commons-lang", "libcommons-lang", "librust-axum", "librust-globset", "librust-grep", "librust-ignore",
    "librust-nu-", "librust-regex", "librust-serde", "librust-tokio",
)  # fmt: skip

MAX_WORDS = max(name.count("-") + 1 for name in NAMES)
_SPLIT = re.compile(r"[-./@_+]+")
_VERSION = re.compile(r"[-_]?v?\d[\d.]*$")


def held_out(package: str) -> bool:
    """Return whether a package of this name is held out."""
    words = _SPLIT.split(package.lower())
    runs = ("-".join(words[at : at + n]) for n in range(1, MAX_WORDS + 1) for at in range(len(words) - n + 1))
    return not NAMES.isdisjoint(runs) or package.lower().startswith(PREFIXES)


def vendored(folders: Iterable[str]) -> bool:
    """Return whether a folder of the file has the name of a held-out project."""
    for folder in folders:
        name = folder.lower()
        spellings = {"-".join(_SPLIT.split(name)), "-".join(_SPLIT.split(_VERSION.sub("", name)))}
        if not NAMES.isdisjoint(spellings) or name.startswith("commons-lang"):
            return True
    return False
