"""Detection by name of files that usually hold secrets, such as `.env`, `id_rsa`, `*.pem` and `credentials.json`."""

from __future__ import annotations

import re

_SAMPLE_NAME = re.compile(r"(?:^|[._-])(?:example|sample|template|dist|default|defaults|schema|test)(?:[._-]|$)", re.I)
_SECRET_FILES = tuple(
    (reason, re.compile(pattern, re.IGNORECASE))
    for reason, pattern in (
        ("environment file", r"(?:^|/)(?:\.env(?:\.[^/]*)?|[^/]+\.env|\.?envrc)$"),
        ("private key", r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[^/]*\.(?:ppk|key|p12|pfx|jks|keystore|kdbx|asc|age))$"),
        ("key or certificate", r"(?:^|/)[^/]*\.(?:pem|p8|der)$"),
        ("file of credentials", r"(?:^|/)(?:\.npmrc|\.yarnrc\.yml|\.pypirc|[._]netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.boto|\.s3cfg"
         r"|\.htpasswd|\.dockercfg|\.docker/config\.json|\.kube/config|[^/]*kubeconfig(?:\.ya?ml)?|\.vault-token"
         r"|\.aws/(?:credentials|config)|credentials|(?:credentials?|client_secrets?|service[-_]?account[^/]*)\.json)$"),
        ("file of secrets", r"(?:^|/)(?:[^/]*\.tfvars(?:\.json)?|[^/]*\.tfstate(?:\.backup)?|[._]?(?:secrets?|credentials?)"
         r"(?:\.[^/]*)?\.(?:ya?ml|toml|json|ini|properties|cfg|conf))$"),
    )
)  # fmt: skip
_ANY_SECRET_FILE = re.compile("|".join(pattern.pattern for _, pattern in _SECRET_FILES), re.IGNORECASE)


def secret_kind(path: str) -> str:
    """Return the kind of secrets that a file usually holds ("environment file", "private key", …), "" for none.

    Samples such as `.env.example` and public keys (`id_rsa.pub`) are not secret.
    """
    name = "/".join(path.replace("\\", "/").rsplit("/", 2)[-2:])  # no pattern matches more components
    if _ANY_SECRET_FILE.search(name) is None or _SAMPLE_NAME.search(name.rpartition("/")[2]):
        return ""
    return next(reason for reason, pattern in _SECRET_FILES if pattern.search(name))


def secret_reason(path: str) -> str:
    """Return why the name of a file forbids showing its text, "" if it does not."""
    kind = secret_kind(path)
    return f"a file called {path.rsplit('/', 1)[-1]} usually holds secrets ({kind})" if kind else ""
