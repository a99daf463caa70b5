"""Names of files that usually hold secrets: `.env`, `id_rsa`, `*.pem`, `credentials.json`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DATA = r"\.(?:ya?ml|toml|json|ini|properties|cfg|conf|xml|txt|csv|enc|db)"
"""Extensions of files with data; code and documents about secrets have others."""
_OWNER = r"(?:(?!(?:with|without|no|push|external|sealed)[._-])[A-Za-z0-9]{1,40}[._-]){0,2}"
"""Names before "secrets": those of an application, an environment or a provider."""
_ENVIRONMENT = r"(?:[._-](?:prod|production|stage|staging|dev|development|local|live|qa|uat|private|backup|\d{1,10}))?"
_SECRET_FILES = tuple(
    (reason, re.compile(pattern, re.IGNORECASE))
    for reason, pattern in (
        ("environment file", r"(?:^|/)(?:\.env(?:[._-][^/]*)?|[^/]+\.env|\.?envrc"
         r"|env\.(?:prod(?:uction)?|stag(?:e|ing)|dev(?:elopment)?|local|live))$"),
        ("private key", r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
         r"|[^/]*\.(?:ppk|key|p12|pfx|jks|jceks|bks|bcfks|keystore|truststore|keytab|kdbx?|psafe3|asc|age|gpg|pgp|ovpn))$"
         r"|(?:^|/)\.password-store/"),
        ("key or certificate", r"(?:^|/)[^/]*\.(?:pem|p8|der)$"),
        ("file of credentials", r"(?:^|/)(?:\.npmrc|\.yarnrc\.yml|\.pypirc|[._]netrc|\.git-credentials|\.?pgpass(?:\.conf)?"
         r"|\.my(?:login)?\.cnf|\.boto|\.s3cfg|\.?htpasswd|\.dockercfg|\.docker/config\.json|\.kube/config"
         rf"|[^/]*kubeconfig(?:[_-][\w-]+)?(?:(?:\.[\w-]+)?{_DATA})?|\.vault-token|\.aws/(?:credentials|config)|\.?credentials"
         rf"|{_OWNER}credentials?{_ENVIRONMENT}{_DATA}|client_?secrets?[\w.-]*\.json|[\w.-]*service[-_]?account[^/]*\.json"
         r"|[\w.-]*firebase-adminsdk[\w.-]*\.json|(?:[\w.-]*[._-])?(?:gcp|gcloud|google|google-services|sa|service)-?_?key\.json"
         r"|(?:access|auth)?_?tokens?\.json|\.tokens?|\.?rclone\.conf|\.msmtprc|\.fetchmailrc|\.terraformrc|terraform\.rc"
         r"|\.databrickscfg|\.oci/config|\.?gh/hosts\.yml|\.m2/settings(?:-security)?\.xml|\.cargo/credentials|\.gem/credentials"
         r"|access_?keys?\.csv|wg\d+\.conf|\.ansible_?vault|\.?vault[-_.]?pass(?:word)?(?:\.\w+)?|[\w.-]*\.(?:secrets?|passw(?:or)?d))$"),
        ("file of secrets", r"(?:^|/)(?:[^/]*\.tfvars(?:\.json)?|[^/]*\.tfstate(?:\.\d+)?(?:\.backup)?|local\.settings\.json"
         rf"|(?!(?:external|sealed)[-_.]?secret)[._]?{_OWNER}secrets?{_ENVIRONMENT}{_DATA}"
         rf"|{_OWNER}(?:passwords?|passwd)\.(?:txt|csv|xml|ini|conf))$"),
    )
)  # fmt: skip
_ANY_SECRET_FILE = re.compile("|".join(pattern.pattern for _, pattern in _SECRET_FILES), re.IGNORECASE)
_COPY = re.compile(r"(?:\.(?:bak|backup|old|orig|save|copy|swp|tmp)|~)+$", re.IGNORECASE)
"""End of the name of a copy; the copy is as secret as the file."""
_SAMPLE_NAME = re.compile(
    r"(?:^|[._-])(?:example|sample|template|tmpl|tpl|dist|defaults?|schema|test|public|pub)(?:[._-]|$)", re.IGNORECASE
)
_NOT_SAMPLE = re.compile(r"^application_default_credentials", re.IGNORECASE)
_HARMLESS_NAME = re.compile(
    r"(?:external|sealed)[-_.]?secrets?|secret[-_.]?(?:store|provider)|encryptedsecret", re.IGNORECASE
)
"""Manifests that name secrets or hold encrypted ones."""
_HARMLESS_FOLDER = re.compile(
    r"(?:^|/)(?:templates|crds|i18n|locales?|lang|translations?|messages|testdata|[._]*snapshots_*)/",
    re.IGNORECASE,
)
"""Folders of templates, translations, code and recorded results, whose files are about secrets."""
_KEY_MATERIAL = ("private key", "key or certificate", "environment file")


def secret_kind(path: str, roots: Iterable[str] = ()) -> str:
    """Return the kind of secrets that a file usually holds ("environment file", "private key", …), "" for none.

    Samples such as `.env.example` and public keys (`id_rsa.pub`) are not secret.  Folders above the innermost of the
    `roots` do not count.
    """
    path = _COPY.sub("", path_below_roots(path, roots).replace("\\", "/"))
    name = "/".join(path.rsplit("/", 2)[-2:])  # no pattern matches more components
    if _ANY_SECRET_FILE.search(name) is None:
        return ""
    last = name.rpartition("/")[2]
    if _SAMPLE_NAME.search(last) and not _NOT_SAMPLE.match(last):
        return ""
    kind = next(reason for reason, pattern in _SECRET_FILES if pattern.search(name))
    is_harmless = _HARMLESS_NAME.search(last) or _HARMLESS_FOLDER.search(path)
    return "" if is_harmless and kind not in _KEY_MATERIAL else kind


def secret_reason(path: str, roots: Iterable[str] = ()) -> str:
    """Return why the name of a file forbids showing its text, "" if it does not.  For `roots`, see `secret_kind`."""
    kind = secret_kind(path, roots)
    return f"a file called {path.rsplit('/', 1)[-1]} usually holds secrets ({kind})" if kind else ""


def path_below_roots(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to the innermost of the roots that contain it, else the path itself."""
    above = max((len(root.rstrip("/")) + 1 for root in roots if path.startswith(f"{root.rstrip('/')}/")), default=0)
    return path[above:]
