"""Two hundred secrets of the shapes that are really found in repositories, planted where they are really found.

Values are made anew from a seed, so that no scanner takes this file for a leak.  `files()` gives the files of a
workspace and what must not come out of each; the shapes are written from the issuers' documentation and from what
people commit, not from the code that looks for them.
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


def some(alphabet: str, count: int) -> str:
    """Random characters; the first are a letter and a digit, as an issuer's would have somewhere."""
    return "".join(rng.choice(alphabet) for _ in range(count))


def password() -> str:
    return f"{some(UPPER, 1)}{some(LOWER, 4)}{some('!#%+', 1)}{some(DIGITS, 3)}{some(LOWER, 4)}"


def jwt() -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{some(DIGITS, 10)}","name":"{some(LOWER, 9)}"}}')
    head = [base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts]
    return ".".join([*head, some(ALNUM + "-_", 43)])


ISSUED: dict[str, Callable[[], str]] = {
    "aws id": lambda: "AKIA" + some(UPPER + "234567", 16),
    "aws session id": lambda: "ASIA" + some(UPPER + "234567", 16),
    "github classic": lambda: "ghp_" + some(ALNUM, 36),
    "github oauth": lambda: "gho_" + some(ALNUM, 36),
    "github app": lambda: "ghs_" + some(ALNUM, 36),
    "github fine": lambda: f"github_pat_{some(ALNUM, 22)}_{some(ALNUM, 59)}",
    "gitlab": lambda: "glpat-" + some(ALNUM + "-_", 20),
    "gitlab runner": lambda: "glrt-" + some(ALNUM + "-_", 20),
    "slack bot": lambda: f"xoxb-{some(DIGITS, 12)}-{some(DIGITS, 13)}-{some(ALNUM, 24)}",
    "slack user": lambda: f"xoxp-{some(DIGITS, 12)}-{some(DIGITS, 12)}-{some(DIGITS, 12)}-{some(HEX, 32)}",
    "slack app": lambda: f"xapp-1-A{some(UPPER + DIGITS, 10)}-{some(DIGITS, 13)}-{some(HEX, 64)}",
    "slack hook": lambda: f"https://hooks.slack.com/services/T{some(UPPER + DIGITS, 8)}/B{some(UPPER + DIGITS, 8)}/{some(ALNUM, 24)}",
    "discord hook": lambda: f"https://discord.com/api/webhooks/{some(DIGITS, 18)}/{some(ALNUM + '-_', 68)}",
    "stripe live": lambda: "sk_live_" + some(ALNUM, 24),
    "stripe restricted": lambda: "rk_live_" + some(ALNUM, 24),
    "stripe hook": lambda: "whsec_" + some(ALNUM, 32),
    "anthropic": lambda: "sk-ant-api03-" + some(ALNUM + "-_", 93) + "AA",
    "openai old": lambda: "sk-" + some(ALNUM, 20) + "T3BlbkFJ" + some(ALNUM, 20),
    "openai project": lambda: "sk-proj-" + some(ALNUM + "-_", 74) + "T3BlbkFJ" + some(ALNUM + "-_", 74),
    "openrouter": lambda: "sk-or-v1-" + some(HEX, 64),
    "deepseek": lambda: "sk-" + some(HEX, 32),
    "groq": lambda: "gsk_" + some(ALNUM, 52),
    "xai": lambda: "xai-" + some(ALNUM, 80),
    "google": lambda: "AIza" + "Sy" + some(ALNUM + "-_", 33),
    "google client": lambda: "GOCSPX-" + some(ALNUM + "-_", 28),
    "google oauth": lambda: "ya29.a0" + some(ALNUM + "-_", 120),
    "hugging face": lambda: "hf_" + some(LOWER + UPPER, 34),
    "npm": lambda: "npm_" + some(ALNUM, 36),
    "pypi": lambda: "pypi-AgEIcHlwaS5vcmc" + some(ALNUM + "-_", 120),
    "rubygems": lambda: "rubygems_" + some(HEX, 48),
    "docker": lambda: "dckr_pat_" + some(ALNUM + "-_", 27),
    "jwt": jwt,
    "sendgrid": lambda: f"SG.{some(ALNUM + '-_', 22)}.{some(ALNUM + '-_', 43)}",
    "mailgun": lambda: "key-" + some(HEX, 32),
    "mailchimp": lambda: some(HEX, 32) + "-us" + some("123456789", 1),
    "twilio": lambda: "SK" + some(HEX, 32),
    "telegram": lambda: f"{some('123456789', 10)}:AA{some(ALNUM + '-_', 33)}",
    "digitalocean": lambda: "dop_v1_" + some(HEX, 64),
    "shopify": lambda: "shpat_" + some(HEX, 32),
    "square": lambda: "sq0atp-" + some(ALNUM + "-_", 22),
    "databricks": lambda: "dapi" + some(HEX, 32),
    "vault": lambda: "hvs." + some(ALNUM + "-_", 90),
    "terraform": lambda: f"{some(ALNUM, 14)}.atlasv1.{some(ALNUM + '-_', 67)}",
    "atlassian": lambda: "ATATT3xFfGF0" + some(ALNUM + "-_", 171),
    "linear": lambda: "lin_api_" + some(ALNUM, 40),
    "notion": lambda: "ntn_" + some(ALNUM, 46),
    "postman": lambda: f"PMAK-{some(HEX, 24)}-{some(HEX, 34)}",
    "grafana": lambda: f"glsa_{some(ALNUM, 32)}_{some(HEX, 8)}",
    "new relic": lambda: "NRAK-" + some(UPPER + DIGITS, 27),
    "sentry": lambda: "sntrys_" + some(ALNUM + "+/=_", 120),
    "supabase": lambda: "sbp_" + some(HEX, 40),
    "planetscale": lambda: "pscale_tkn_" + some(ALNUM + "-_.", 43),
    "doppler": lambda: "dp.pt." + some(ALNUM, 43),
    "tailscale": lambda: f"tskey-auth-k{some(ALNUM, 11)}-{some(ALNUM, 32)}",
    "age": lambda: "AGE-SECRET-KEY-1" + some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "azure storage": lambda: f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={some(ALNUM + '+/', 86)}==;EndpointSuffix=core.windows.net",
    "azure bus": lambda: f"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={some(ALNUM + '+/', 43)}=",
}  # fmt: skip

CODE: dict[str, Callable[[str], str]] = {
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
ENDINGS = {"python": "py", "javascript": "js", "go": "go", "rust": "rs", "comment": "py", "docstring": "py",
           "prose": "md", "curl": "sh", "default": "py", "const": "py"}  # fmt: skip


def unprefixed() -> list[tuple[str, str, str]]:
    """(file, text, secret): what only its name tells, as people write it in code and in settings."""
    out: list[tuple[str, str, str]] = []

    def add(name: str, form: str, secret: str) -> None:
        out.append((name, form.replace("§", secret), secret))

    aws = lambda: some(ALNUM + "/+", 40)  # noqa: E731
    add("deploy/aws.py", 'AWS_SECRET_ACCESS_KEY = "§"\n', aws())
    add("deploy/aws.js", "const config = { secretAccessKey: '§' };\n", aws())
    add("deploy/aws.sh", "export AWS_SECRET_ACCESS_KEY=§\n", aws())
    add("deploy/aws.tf", 'provider "aws" {\n  secret_key = "§"\n}\n', aws())
    add(".github/workflows/ci.yml", "jobs:\n  test:\n    env:\n      AWS_SECRET_ACCESS_KEY: §\n", aws())
    add(".gitlab-ci.yml", "variables:\n  DEPLOY_TOKEN: §\n", some(ALNUM, 40))
    add(".circleci/config.yml", "jobs:\n  x:\n    environment:\n      API_KEY: §\n", some(ALNUM, 32))
    add(".travis.yml", "env:\n  global:\n    - API_TOKEN=§\n", some(ALNUM, 32))
    add("azure-pipelines.yml", "variables:\n  clientSecret: '§'\n", some(ALNUM, 34))
    add("Jenkinsfile", 'environment {\n  API_TOKEN = "§"\n}\n', some(HEX, 40))
    add("Dockerfile", "FROM python\nENV API_TOKEN=§\n", some(ALNUM, 32))
    add("build.dockerfile", "FROM python\nARG NPM_AUTH_TOKEN=§\n", some(ALNUM, 36))
    add("docker-compose.yml", "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: §\n", password())
    add("compose/x.yaml", "services:\n  db:\n    environment:\n      - MYSQL_ROOT_PASSWORD=§\n", password())
    add("k8s/secret.yaml", "kind: Secret\ndata:\n  password: §\n", base64.b64encode(password().encode()).decode())
    add("k8s/deployment.yaml", "env:\n  - name: API_KEY\n    value: §\n", some(ALNUM, 40))
    add("helm/values.yaml", "redis:\n  password: §\n", password())
    add("src/application.properties", "spring.datasource.password=§\n", password())
    add("src/application.yml", "spring:\n  datasource:\n    password: §\n", password())
    add("app.config", '<add key="ApiKey" value="§" />\n', some(ALNUM, 32))
    add("web.config", '<add connectionString="Server=db;User Id=sa;Password=§;" />\n', password())
    add(
        "appsettings.json", '{"ConnectionStrings": {"Db": "Server=db;Database=x;User Id=sa;Password=§;"}}\n', password()
    )
    add("settings.xml", "<server>\n  <username>ci</username>\n  <password>§</password>\n</server>\n", password())
    add("setup.cfg", "[pypi]\nusername = ci\npassword = §\n", password())
    add("ansible/all.yml", "vault_password: §\n", password())
    add("config/database.yml", "production:\n  username: shop\n  password: §\n", password())
    add("config/settings.ini", "[mail]\npassword = §\n", password())
    add("config/app.toml", '[mail]\npassword = "§"\n', password())
    add("config/app.json", '{"mail": {"password": "§"}}\n', password())
    add("config/wp-config.php", "<?php\ndefine('DB_PASSWORD', '§');\n", password())
    add("config/auth.php", "<?php\n$config['secret'] = '§';\n", some(ALNUM, 32))
    add("app/settings.py", 'SECRET_KEY = "§"\n', some(LOWER + DIGITS + "!@#%^&*(-_=+)", 50))
    add("app/db.py", 'DATABASES = {"default": {"PASSWORD": "§"}}\n', password())
    add("app/connect.py", 'db = connect(host="db", user="shop", password="§")\n', password())
    add("app/header.py", 'headers = {"X-Api-Key": "§"}\n', some(ALNUM, 40))
    add("app/bearer.py", 'headers = {"Authorization": "Bearer §"}\n', some(ALNUM + "-_", 48))
    add("app/bearer.ts", "const headers = { Authorization: `Bearer §` };\n", some(ALNUM + "-_", 48))
    add("app/basic.sh", "curl -u ci:§ https://api.example.org/\n", password())
    add(
        "app/basic.py",
        'headers = {"Authorization": "Basic §"}\n',
        base64.b64encode(f"ci:{password()}".encode()).decode(),
    )
    add("app/env.rb", "ENV['API_TOKEN'] ||= '§'\n", some(HEX, 40))
    add("app/Client.java", 'class Client {\n  private static final String API_KEY = "§";\n}\n', some(ALNUM, 40))
    add("app/Client.kt", 'private const val apiKey: String = "§"\n', some(ALNUM, 40))
    add("app/Client.cs", 'class Client { const string ClientSecret = "§"; }\n', some(ALNUM, 34))
    add("app/client.go", 'package app\n\nconst apiToken = "§"\n', some(HEX, 40))
    add("app/client.rs", 'const API_KEY: &str = "§";\n', some(ALNUM, 40))
    add("app/client.swift", 'let apiKey = "§"\n', some(ALNUM, 40))
    add("app/client.dart", "const String accessToken = '§';\n", some(ALNUM, 40))
    add("app/client.lua", 'local auth_token = "§"\n', some(HEX, 40))
    add("app/client.ex", 'config :shop, secret_key_base: "§"\n', some(ALNUM + "/+", 64))
    add("app/client.scala", 'val clientSecret = "§"\n', some(ALNUM, 34))
    add("app/client.pl", "my $api_key = '§';\n", some(HEX, 32))
    add("app/client.r", 'api_key <- "§"\n', some(ALNUM, 36))
    add("app/client.ps1", '$ClientSecret = "§"\n', some(ALNUM, 34))
    add("app/client.c", '#define API_KEY "§"\n', some(ALNUM, 40))
    add("app/client.cpp", 'static const std::string api_key{"§"};\n', some(ALNUM, 40))
    add("app/client.vue", "<script>\nconst token = '§'\n</script>\n", some(ALNUM, 40))
    add("app/client.html", '<meta name="api-key" content="§">\n', some(ALNUM, 40))
    add("app/hmac.py", 'signing_secret = bytes.fromhex("§")\n', some(HEX, 64))
    add("app/getenv.py", 'token = os.environ.get("SHOP_TOKEN", "§")\n', some(ALNUM, 40))
    add("app/getenv.js", "const token = process.env.SHOP_TOKEN || '§';\n", some(ALNUM, 40))
    add("app/concat.py", 'url = "https://api.example.org/?api_key=§&x=1"\n', some(ALNUM, 40))
    add("app/query.js", "fetch('https://api.example.org/pay?access_token=§')\n", some(ALNUM, 40))
    for number, (scheme, host) in enumerate(
        [("postgres", "db:5432/shop"), ("mysql", "db/shop"), ("mongodb+srv", "c0.example.net/shop"), ("redis", "cache:6379"),
         ("amqp", "mq:5672"), ("https", "git.example.org/shop.git"), ("ftp", "files.example.org"), ("smtp", "mail.example.org")]
    ):  # fmt: skip
        add(
            f"urls/url_{number}.py",
            f'URL = "{scheme}://shop:§@{host}"\n',
            password().replace("#", "-").replace("%", "-"),
        )
    add("urls/jdbc.properties", "url=jdbc:postgresql://db/shop?user=shop&password=§\n", password().replace("#", "-"))
    add("urls/remote.sh", "git clone https://ci:§@git.example.org/shop.git\n", some(ALNUM, 24))
    add("urls/at.py", 'URL = "postgres://shop:§@db/shop"\n', f"{some(ALNUM, 6)}@{some(LOWER, 3)}{some(DIGITS, 3)}")
    slash = lambda: "/" + some(ALNUM + "/+", 39)  # noqa: E731
    add("deploy/slash.sh", "export AWS_SECRET_ACCESS_KEY=§\n", slash())
    add("deploy/slash.yml", "env:\n  AWS_SECRET_ACCESS_KEY: §\n", slash())
    add("logs/escaped.json", '{"log": "line one\\n§\\nline three"}\n', ISSUED["github classic"]())
    add("logs/tab.py", 'LINE = "id\\t§"\n', ISSUED["aws id"]())
    add("logs/query.txt", "GET /pay?note=key%20§ 200\n", ISSUED["stripe live"]())
    return out


def key(kind: str, lines: int = 24) -> str:
    body = "\n".join(some(ALNUM + "+/", 64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"


def keys() -> list[tuple[str, str, str]]:
    """Private keys where they do not belong."""
    out: list[tuple[str, str, str]] = []

    def add(name: str, form: str, text: str) -> None:
        out.append((name, form.replace("KEY", text), text.split("\n")[4]))

    for number, kind in enumerate(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY",
                                   "ENCRYPTED PRIVATE KEY", "DSA PRIVATE KEY"]):  # fmt: skip
        add(f"keys/key_{number}.txt", "KEY", key(kind))
    add("keys/in_code.py", 'KEY = """\\\nKEY"""\n'.replace("KEY =", "SIGNING ="), key("RSA PRIVATE KEY"))
    add("keys/in_yaml.yml", "tls:\n  key: |\n    KEY\n", key("PRIVATE KEY").rstrip("\n").replace("\n", "\n    "))
    pem = key("RSA PRIVATE KEY")
    escaped = pem.replace("\n", "\\n")
    out.append(("keys/in_json.json", f'{{"private_key": "{escaped}"}}\n', pem.split("\n")[4]))
    joined = pem.replace("\n", "\\n' +\n  '")
    out.append(("keys/in_js.js", f"const pem = '{joined}';\n", pem.split("\n")[4]))
    cut = key("RSA PRIVATE KEY").rpartition("-----END")[0]
    out.append(("keys/cut.txt", cut, cut.split("\n")[4]))
    for name, sign in (("tail", ""), ("quoted", "> "), ("comment", "# "), ("indented", "    ")):
        last = [sign + line for line in key("OPENSSH PRIVATE KEY").split("\n")[-9:-1]]
        out.append((f"keys/{name}.txt", "\n".join(["$ tail key", *last, ""]), last[3].removeprefix(sign)))
    return out


def made_for_secrets() -> list[tuple[str, str, str]]:
    """Files that hold nothing else; no line of them is to be seen without leave."""
    word = lambda: some(LOWER, 12)  # noqa: E731
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
def files() -> dict[str, tuple[str, str, str]]:
    """Name of a file → (its text, what must not come out of it, what kind of secret it is); the same whenever asked."""
    found: dict[str, tuple[str, str, str]] = {}
    forms = list(CODE)
    for number, (kind, make) in enumerate(ISSUED.items()):
        for form in (forms[number % len(forms)], forms[(number * 3 + 5) % len(forms)]):
            secret = make()
            found[f"issued/{kind.replace(' ', '_')}_{form}.{ENDINGS[form]}"] = (CODE[form](secret), core(secret), kind)
    for kind, made in (("unprefixed", unprefixed()), ("key", keys()), ("file", made_for_secrets())):
        for name, text, secret in made:
            found[name] = (text, secret, kind)
    return found


def core(secret: str) -> str:
    """The part of a secret that nobody else knows: without names of hosts and of fields."""
    for mark in ("AccountKey=", "SharedAccessKey=", "/services/", "/webhooks/"):
        if mark in secret:
            return secret.partition(mark)[2].split(";")[0]
    return secret
