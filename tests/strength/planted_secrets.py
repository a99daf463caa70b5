"""About two hundred secrets in realistic formats and locations, for the redaction tests.

Values are generated from a seed, so that secret scanners do not report this file. Formats follow the documentation
of the issuers and common mistakes in repositories, not the detection code. `planted_files()` returns the files.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from functools import cache

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = LOWER + UPPER + DIGITS, "0123456789abcdef"

rng = random.Random(20)


def random_text(alphabet: str, count: int) -> str:
    """Return random characters of an alphabet."""
    return "".join(rng.choice(alphabet) for _ in range(count))


def random_password() -> str:
    return f"{random_text(UPPER, 1)}{random_text(LOWER, 4)}{random_text('!#%+', 1)}{random_text(DIGITS, 3)}{random_text(LOWER, 4)}"


def random_jwt() -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{random_text(DIGITS, 10)}","name":"{random_text(LOWER, 9)}"}}')
    head = [base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts]
    return ".".join([*head, random_text(ALNUM + "-_", 43)])


ISSUED_TOKENS: dict[str, Callable[[], str]] = {
    "aws id": lambda: "AKIA" + random_text(UPPER + "234567", 16),
    "aws session id": lambda: "ASIA" + random_text(UPPER + "234567", 16),
    "github classic": lambda: "ghp_" + random_text(ALNUM, 36),
    "github oauth": lambda: "gho_" + random_text(ALNUM, 36),
    "github app": lambda: "ghs_" + random_text(ALNUM, 36),
    "github fine": lambda: f"github_pat_{random_text(ALNUM, 22)}_{random_text(ALNUM, 59)}",
    "gitlab": lambda: "glpat-" + random_text(ALNUM + "-_", 20),
    "gitlab runner": lambda: "glrt-" + random_text(ALNUM + "-_", 20),
    "slack bot": lambda: f"xoxb-{random_text(DIGITS, 12)}-{random_text(DIGITS, 13)}-{random_text(ALNUM, 24)}",
    "slack user": lambda: f"xoxp-{random_text(DIGITS, 12)}-{random_text(DIGITS, 12)}-{random_text(DIGITS, 12)}-{random_text(HEX, 32)}",
    "slack app": lambda: f"xapp-1-A{random_text(UPPER + DIGITS, 10)}-{random_text(DIGITS, 13)}-{random_text(HEX, 64)}",
    "slack hook": lambda: f"https://hooks.slack.com/services/T{random_text(UPPER + DIGITS, 8)}/B{random_text(UPPER + DIGITS, 8)}/{random_text(ALNUM, 24)}",
    "discord hook": lambda: f"https://discord.com/api/webhooks/{random_text(DIGITS, 18)}/{random_text(ALNUM + '-_', 68)}",
    "stripe live": lambda: "sk_live_" + random_text(ALNUM, 24),
    "stripe restricted": lambda: "rk_live_" + random_text(ALNUM, 24),
    "stripe hook": lambda: "whsec_" + random_text(ALNUM, 32),
    "anthropic": lambda: "sk-ant-api03-" + random_text(ALNUM + "-_", 93) + "AA",
    "openai old": lambda: "sk-" + random_text(ALNUM, 20) + "T3BlbkFJ" + random_text(ALNUM, 20),
    "openai project": lambda: "sk-proj-" + random_text(ALNUM + "-_", 74) + "T3BlbkFJ" + random_text(ALNUM + "-_", 74),
    "openrouter": lambda: "sk-or-v1-" + random_text(HEX, 64),
    "deepseek": lambda: "sk-" + random_text(HEX, 32),
    "groq": lambda: "gsk_" + random_text(ALNUM, 52),
    "xai": lambda: "xai-" + random_text(ALNUM, 80),
    "google": lambda: "AIza" + "Sy" + random_text(ALNUM + "-_", 33),
    "google client": lambda: "GOCSPX-" + random_text(ALNUM + "-_", 28),
    "google oauth": lambda: "ya29.a0" + random_text(ALNUM + "-_", 120),
    "hugging face": lambda: "hf_" + random_text(LOWER + UPPER, 34),
    "npm": lambda: "npm_" + random_text(ALNUM, 36),
    "pypi": lambda: "pypi-AgEIcHlwaS5vcmc" + random_text(ALNUM + "-_", 120),
    "rubygems": lambda: "rubygems_" + random_text(HEX, 48),
    "docker": lambda: "dckr_pat_" + random_text(ALNUM + "-_", 27),
    "jwt": random_jwt,
    "sendgrid": lambda: f"SG.{random_text(ALNUM + '-_', 22)}.{random_text(ALNUM + '-_', 43)}",
    "mailgun": lambda: "key-" + random_text(HEX, 32),
    "mailchimp": lambda: random_text(HEX, 32) + "-us" + random_text("123456789", 1),
    "twilio": lambda: "SK" + random_text(HEX, 32),
    "telegram": lambda: f"{random_text('123456789', 10)}:AA{random_text(ALNUM + '-_', 33)}",
    "digitalocean": lambda: "dop_v1_" + random_text(HEX, 64),
    "shopify": lambda: "shpat_" + random_text(HEX, 32),
    "square": lambda: "sq0atp-" + random_text(ALNUM + "-_", 22),
    "databricks": lambda: "dapi" + random_text(HEX, 32),
    "vault": lambda: "hvs." + random_text(ALNUM + "-_", 90),
    "terraform": lambda: f"{random_text(ALNUM, 14)}.atlasv1.{random_text(ALNUM + '-_', 67)}",
    "atlassian": lambda: "ATATT3xFfGF0" + random_text(ALNUM + "-_", 171),
    "linear": lambda: "lin_api_" + random_text(ALNUM, 40),
    "notion": lambda: "ntn_" + random_text(ALNUM, 46),
    "postman": lambda: f"PMAK-{random_text(HEX, 24)}-{random_text(HEX, 34)}",
    "grafana": lambda: f"glsa_{random_text(ALNUM, 32)}_{random_text(HEX, 8)}",
    "new relic": lambda: "NRAK-" + random_text(UPPER + DIGITS, 27),
    "sentry": lambda: "sntrys_" + random_text(ALNUM + "+/=_", 120),
    "supabase": lambda: "sbp_" + random_text(HEX, 40),
    "planetscale": lambda: "pscale_tkn_" + random_text(ALNUM + "-_.", 43),
    "doppler": lambda: "dp.pt." + random_text(ALNUM, 43),
    "tailscale": lambda: f"tskey-auth-k{random_text(ALNUM, 11)}-{random_text(ALNUM, 32)}",
    "age": lambda: "AGE-SECRET-KEY-1" + random_text("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "azure storage": lambda: f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={random_text(ALNUM + '+/', 86)}==;EndpointSuffix=core.windows.net",
    "azure bus": lambda: f"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={random_text(ALNUM + '+/', 43)}=",
}  # fmt: skip

CODE_TEMPLATES: dict[str, Callable[[str], str]] = {
    "python": lambda s: f'client = Client("{s}")\n',
    "javascript": lambda s: f"const client = connect('{s}');\n",
    "go": lambda s: f'package pay\n\nvar client = Connect("{s}")\n',
    "rust": lambda s: f'fn client() -> Client {{ Client::new("{s}") }}\n',
    "comment": lambda s: f"# old one, to be removed: {s}\ndef pay():\n    return 1\n",
    "docstring": lambda s: f'def pay():\n    """Pays with {s}."""\n    return 1\n',
    "prose": lambda s: f"# Setup\n\nUse the shared key {s} until yours is there.\n",
    "curl": lambda s: f"#!/bin/sh\ncurl -H 'Authorization: Bearer {s}' https://api.example.org/pay\n",
    "default": lambda s: f'def pay(key="{s}"):\n    return key\n',
    "const": lambda s: f'PAY = "{s}"\n',
}
SUFFIXES = {"python": "py", "javascript": "js", "go": "go", "rust": "rs", "comment": "py", "docstring": "py",
           "prose": "md", "curl": "sh", "default": "py", "const": "py"}  # fmt: skip


def named_secrets() -> list[tuple[str, str, str]]:
    """Return (file, text, secret) of secrets without a known prefix, recognizable only by the name next to them."""
    out: list[tuple[str, str, str]] = []

    def add(name: str, form: str, secret: str) -> None:
        out.append((name, form.replace("§", secret), secret))

    aws = lambda: random_text(ALNUM + "/+", 40)  # noqa: E731
    add("deploy/aws.py", 'AWS_SECRET_ACCESS_KEY = "§"\n', aws())
    add("deploy/aws.js", "const config = { secretAccessKey: '§' };\n", aws())
    add("deploy/aws.sh", "export AWS_SECRET_ACCESS_KEY=§\n", aws())
    add("deploy/aws.tf", 'provider "aws" {\n  secret_key = "§"\n}\n', aws())
    add(".github/workflows/ci.yml", "jobs:\n  test:\n    env:\n      AWS_SECRET_ACCESS_KEY: §\n", aws())
    add(".gitlab-ci.yml", "variables:\n  DEPLOY_TOKEN: §\n", random_text(ALNUM, 40))
    add(".circleci/config.yml", "jobs:\n  x:\n    environment:\n      API_KEY: §\n", random_text(ALNUM, 32))
    add(".travis.yml", "env:\n  global:\n    - API_TOKEN=§\n", random_text(ALNUM, 32))
    add("azure-pipelines.yml", "variables:\n  clientSecret: '§'\n", random_text(ALNUM, 34))
    add("Jenkinsfile", 'environment {\n  API_TOKEN = "§"\n}\n', random_text(HEX, 40))
    add("Dockerfile", "FROM python\nENV API_TOKEN=§\n", random_text(ALNUM, 32))
    add("build.dockerfile", "FROM python\nARG NPM_AUTH_TOKEN=§\n", random_text(ALNUM, 36))
    add("docker-compose.yml", "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: §\n", random_password())
    add("compose/x.yaml", "services:\n  db:\n    environment:\n      - MYSQL_ROOT_PASSWORD=§\n", random_password())
    add(
        "k8s/secret.yaml", "kind: Secret\ndata:\n  password: §\n", base64.b64encode(random_password().encode()).decode()
    )
    add("k8s/deployment.yaml", "env:\n  - name: API_KEY\n    value: §\n", random_text(ALNUM, 40))
    add("helm/values.yaml", "redis:\n  password: §\n", random_password())
    add("src/application.properties", "spring.datasource.password=§\n", random_password())
    add("src/application.yml", "spring:\n  datasource:\n    password: §\n", random_password())
    add("app.config", '<add key="ApiKey" value="§" />\n', random_text(ALNUM, 32))
    add("web.config", '<add connectionString="Server=db;User Id=sa;Password=§;" />\n', random_password())
    add(
        "appsettings.json",
        '{"ConnectionStrings": {"Db": "Server=db;Database=x;User Id=sa;Password=§;"}}\n',
        random_password(),
    )
    add("settings.xml", "<server>\n  <username>ci</username>\n  <password>§</password>\n</server>\n", random_password())
    add("setup.cfg", "[pypi]\nusername = ci\npassword = §\n", random_password())
    add("ansible/all.yml", "vault_password: §\n", random_password())
    add("config/database.yml", "production:\n  username: shop\n  password: §\n", random_password())
    add("config/settings.ini", "[mail]\npassword = §\n", random_password())
    add("config/app.toml", '[mail]\npassword = "§"\n', random_password())
    add("config/app.json", '{"mail": {"password": "§"}}\n', random_password())
    add("config/wp-config.php", "<?php\ndefine('DB_PASSWORD', '§');\n", random_password())
    add("config/auth.php", "<?php\n$config['secret'] = '§';\n", random_text(ALNUM, 32))
    add("app/settings.py", 'SECRET_KEY = "§"\n', random_text(LOWER + DIGITS + "!@#%^&*(-_=+)", 50))
    add("app/db.py", 'DATABASES = {"default": {"PASSWORD": "§"}}\n', random_password())
    add("app/connect.py", 'db = connect(host="db", user="shop", password="§")\n', random_password())
    add("app/header.py", 'headers = {"X-Api-Key": "§"}\n', random_text(ALNUM, 40))
    add("app/bearer.py", 'headers = {"Authorization": "Bearer §"}\n', random_text(ALNUM + "-_", 48))
    add("app/bearer.ts", "const headers = { Authorization: `Bearer §` };\n", random_text(ALNUM + "-_", 48))
    add("app/basic.sh", "curl -u ci:§ https://api.example.org/\n", random_password())
    add(
        "app/basic.py",
        'headers = {"Authorization": "Basic §"}\n',
        base64.b64encode(f"ci:{random_password()}".encode()).decode(),
    )
    add("app/env.rb", "ENV['API_TOKEN'] ||= '§'\n", random_text(HEX, 40))
    add("app/Client.java", 'class Client {\n  private static final String API_KEY = "§";\n}\n', random_text(ALNUM, 40))
    add("app/Client.kt", 'private const val apiKey: String = "§"\n', random_text(ALNUM, 40))
    add("app/Client.cs", 'class Client { const string ClientSecret = "§"; }\n', random_text(ALNUM, 34))
    add("app/client.go", 'package app\n\nconst apiToken = "§"\n', random_text(HEX, 40))
    add("app/client.rs", 'const API_KEY: &str = "§";\n', random_text(ALNUM, 40))
    add("app/client.swift", 'let apiKey = "§"\n', random_text(ALNUM, 40))
    add("app/client.dart", "const String accessToken = '§';\n", random_text(ALNUM, 40))
    add("app/client.lua", 'local auth_token = "§"\n', random_text(HEX, 40))
    add("app/client.ex", 'config :shop, secret_key_base: "§"\n', random_text(ALNUM + "/+", 64))
    add("app/client.scala", 'val clientSecret = "§"\n', random_text(ALNUM, 34))
    add("app/client.pl", "my $api_key = '§';\n", random_text(HEX, 32))
    add("app/client.r", 'api_key <- "§"\n', random_text(ALNUM, 36))
    add("app/client.ps1", '$ClientSecret = "§"\n', random_text(ALNUM, 34))
    add("app/client.c", '#define API_KEY "§"\n', random_text(ALNUM, 40))
    add("app/client.cpp", 'static const std::string api_key{"§"};\n', random_text(ALNUM, 40))
    add("app/client.vue", "<script>\nconst token = '§'\n</script>\n", random_text(ALNUM, 40))
    add("app/client.html", '<meta name="api-key" content="§">\n', random_text(ALNUM, 40))
    add("app/hmac.py", 'signing_secret = bytes.fromhex("§")\n', random_text(HEX, 64))
    add("app/getenv.py", 'token = os.environ.get("SHOP_TOKEN", "§")\n', random_text(ALNUM, 40))
    add("app/getenv.js", "const token = process.env.SHOP_TOKEN || '§';\n", random_text(ALNUM, 40))
    add("app/concat.py", 'url = "https://api.example.org/?api_key=§&x=1"\n', random_text(ALNUM, 40))
    add("app/query.js", "fetch('https://api.example.org/pay?access_token=§')\n", random_text(ALNUM, 40))
    for number, (scheme, host) in enumerate(
        [("postgres", "db:5432/shop"), ("mysql", "db/shop"), ("mongodb+srv", "c0.example.net/shop"), ("redis", "cache:6379"),
         ("amqp", "mq:5672"), ("https", "git.example.org/shop.git"), ("ftp", "files.example.org"), ("smtp", "mail.example.org")]
    ):  # fmt: skip
        add(
            f"urls/url_{number}.py",
            f'URL = "{scheme}://shop:§@{host}"\n',
            random_password().replace("#", "-").replace("%", "-"),
        )
    add(
        "urls/jdbc.properties",
        "url=jdbc:postgresql://db/shop?user=shop&password=§\n",
        random_password().replace("#", "-"),
    )
    add("urls/remote.sh", "git clone https://ci:§@git.example.org/shop.git\n", random_text(ALNUM, 24))
    add(
        "urls/at.py",
        'URL = "postgres://shop:§@db/shop"\n',
        f"{random_text(ALNUM, 6)}@{random_text(LOWER, 3)}{random_text(DIGITS, 3)}",
    )
    slash = lambda: "/" + random_text(ALNUM + "/+", 39)  # noqa: E731
    add("deploy/slash.sh", "export AWS_SECRET_ACCESS_KEY=§\n", slash())
    add("deploy/slash.yml", "env:\n  AWS_SECRET_ACCESS_KEY: §\n", slash())
    add("logs/escaped.json", '{"log": "line one\\n§\\nline three"}\n', ISSUED_TOKENS["github classic"]())
    add("logs/tab.py", 'LINE = "id\\t§"\n', ISSUED_TOKENS["aws id"]())
    add("logs/query.txt", "GET /pay?note=key%20§ 200\n", ISSUED_TOKENS["stripe live"]())
    return out


def private_key(kind: str, lines: int = 24) -> str:
    body = "\n".join(random_text(ALNUM + "+/", 64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"


def private_keys() -> list[tuple[str, str, str]]:
    """Return (file, text, secret) of private keys in ordinary files."""
    out: list[tuple[str, str, str]] = []

    def add(name: str, form: str, text: str) -> None:
        out.append((name, form.replace("KEY", text), text.split("\n")[4]))

    for number, kind in enumerate(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY",
                                   "ENCRYPTED PRIVATE KEY", "DSA PRIVATE KEY"]):  # fmt: skip
        add(f"keys/key_{number}.txt", "KEY", private_key(kind))
    add("keys/in_code.py", 'KEY = """\\\nKEY"""\n'.replace("KEY =", "SIGNING ="), private_key("RSA PRIVATE KEY"))
    add(
        "keys/in_yaml.yml", "tls:\n  key: |\n    KEY\n", private_key("PRIVATE KEY").rstrip("\n").replace("\n", "\n    ")
    )
    pem = private_key("RSA PRIVATE KEY")
    escaped = pem.replace("\n", "\\n")
    out.append(("keys/in_json.json", f'{{"private_key": "{escaped}"}}\n', pem.split("\n")[4]))
    joined = pem.replace("\n", "\\n' +\n  '")
    out.append(("keys/in_js.js", f"const pem = '{joined}';\n", pem.split("\n")[4]))
    cut = private_key("RSA PRIVATE KEY").rpartition("-----END")[0]
    out.append(("keys/cut.txt", cut, cut.split("\n")[4]))
    for name, sign in (("tail", ""), ("quoted", "> "), ("comment", "# "), ("indented", "    ")):
        last = [sign + line for line in private_key("OPENSSH PRIVATE KEY").split("\n")[-9:-1]]
        out.append((f"keys/{name}.txt", "\n".join(["$ tail key", *last, ""]), last[3].removeprefix(sign)))
    return out


def secret_files() -> list[tuple[str, str, str]]:
    """Return (file, text, secret) of files made for secrets, which are refused as a whole."""
    word = lambda: random_text(LOWER, 12)  # noqa: E731
    out = []
    for name, form in (
        (".env", "HOST={0}\n"), (".env.local", "HOST={0}\n"), ("app/prod.env", "HOST={0}\n"), (".envrc", "export HOST={0}\n"),
        (".npmrc", "//registry.example.org/:username={0}\n"), (".pypirc", "[pypi]\nusername: {0}\n"),
        (".netrc", "machine {0} login x\n"), (".pgpass", "{0}:5432:shop:shop:x\n"), (".aws/credentials", "[{0}]\n"),
        (".git-credentials", "https://{0}:x@git.example.org\n"), ("id_rsa", "{0}\n"), ("deploy/id_ed25519", "{0}\n"),
        ("server.pem", "{0}\n"), ("server.key", "{0}\n"), ("terraform.tfvars", 'region = "{0}"\n'),
        ("terraform.tfstate", '{{"serial": "{0}"}}\n'), ("secrets.yml", "host: {0}\n"), ("config/credentials.json", '{{"host": "{0}"}}\n'),
        ("client_secret.json", '{{"project": "{0}"}}\n'), (".kube/config", "name: {0}\n"), (".dockercfg", '{{"{0}": 1}}\n'),
        (".htpasswd", "{0}:x\n"), ("release.keystore", "{0}\n"), ("service-account.json", '{{"project_id": "{0}"}}\n'),
    ):  # fmt: skip
        value = word()
        out.append((name, form.format(value), value))
    return out


@cache
def planted_files() -> dict[str, tuple[str, str, str]]:
    """Return (text, secret, kind) by file name; always the same."""
    files: dict[str, tuple[str, str, str]] = {}
    forms = list(CODE_TEMPLATES)
    for number, (kind, make) in enumerate(ISSUED_TOKENS.items()):
        for form in (forms[number % len(forms)], forms[(number * 3 + 5) % len(forms)]):
            secret = make()
            files[f"issued/{kind.replace(' ', '_')}_{form}.{SUFFIXES[form]}"] = (
                CODE_TEMPLATES[form](secret),
                secret_part(secret),
                kind,
            )
    for kind, planted in (("unprefixed", named_secrets()), ("key", private_keys()), ("file", secret_files())):
        for name, text, secret in planted:
            files[name] = (text, secret, kind)
    return files


def secret_part(secret: str) -> str:
    """Return the confidential part of a secret, without host and field names."""
    for mark in ("AccountKey=", "SharedAccessKey=", "/services/", "/webhooks/"):
        if mark in secret:
            return secret.partition(mark)[2].split(";")[0]
    return secret
