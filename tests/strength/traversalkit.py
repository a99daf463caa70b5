"""What an attacker writes where a path or a URI belongs, to get at a file outside of the workspace.

`Trap` lays out a workspace beside a folder that nobody may look into; every file there holds `TOKEN`, which stands
nowhere else, so that one look at an answer tells whether any of it came out.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from stat import S_ISREG
from typing import Any
from urllib.parse import quote

from conftest import make_shop
from promptls.knowledge.project.manifest_formats import _PARSERS_BY_NAME
from promptls.knowledge.rules.conventions import CONVENTIONS
from promptls.mentions.registry import BUILT_IN

TOKEN = "kumquatzebra7319"
"""A word of its own, so that it could also be a symbol, a heading, a package or a rule."""

BODY = f"""\
{TOKEN} = 1
{TOKEN} = 2
def {TOKEN}(): return "{TOKEN}"
# {TOKEN}
"""

CONTENTS = {
    ".json": f'{{"name": "{TOKEN}", "description": "{TOKEN}", "dependencies": {{"{TOKEN}": "1"}}, "version": 1,'
    f' "entries": [{{"id": "a", "category": "rule", "title": "{TOKEN}", "content": "{TOKEN} cart discount",'
    ' "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}]}\n',
    ".toml": f'[project]\nname = "{TOKEN}"\ndescription = "{TOKEN}"\n\n[package]\nname = "{TOKEN}"\n',
    ".md": f"# {TOKEN}\n\nAlways say {TOKEN} of a cart.\n",
    "team.toml": f'[[person]]\nname = "{TOKEN}"\nrole = "{TOKEN}"\nknows = ["**"]\n',
    "go.mod": f"module {TOKEN}\n",
    "CODEOWNERS": f"* @{TOKEN}\n",
    "gitignore": f"{TOKEN}*\n*.nothing\n",
    "recipe.md": f"---\ntitle: {TOKEN}\ndescription: {TOKEN}\n---\nDo {TOKEN}.\n",
}


def content(name: str) -> str:
    """A text that holds the token and is of the form that a file of this name should have."""
    return next((text for ending, text in CONTENTS.items() if name.endswith(ending)), BODY)


class Trap:
    """`root` is the workspace; what may not come out lies in `outside`, in `twin`, in `home`, and in the environment."""

    def __init__(self, folder: Path) -> None:
        self.root = make_shop(folder / "work")
        self.outside = folder / "outside"
        self.twin = folder / "work-twin"  # its name begins like the root's
        self.home = folder / "home"
        for place in (self.outside, self.twin, self.home):
            place.mkdir()
            (place / "canary.py").write_text(BODY)
            (place / "sub").mkdir()
            (place / "sub" / "canary.py").write_text(BODY)
        (self.root / "link.py").symlink_to(self.outside / "canary.py")
        (self.root / "linked").symlink_to(self.outside)
        (self.root / "up").symlink_to("..")
        (self.root / "proc").symlink_to("/proc/self")
        self._conventional()
        self.env = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "none"), "CANARY": TOKEN}

    def _conventional(self) -> None:
        """Links out of the workspace under every name that somebody looks for by convention."""
        names = [name for family in CONVENTIONS for name in family.files]
        names += [f"{f}/linked{ends[0]}" for family in CONVENTIONS for f, ends, _ in family.folders]
        names += ["README", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md", "tsconfig.json", "CODEOWNERS"]
        names += [".github/CODEOWNERS", ".promptls/memory.json", ".promptls/team.toml", ".promptls/recipes/recipe.md"]
        names += [".promptlsignore", "web/.gitignore", ".mailmap", ".gitattributes", *_PARSERS_BY_NAME]
        for number, name in enumerate(dict.fromkeys(names)):
            place, target = self.root / name, self.outside / f"{number}" / name.rsplit("/", 1)[-1]
            if place.parent.is_file() or os.path.lexists(place):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            target.parent.mkdir()
            target.write_text(content(name))
            place.symlink_to(target)

    def paths(self) -> list[str]:
        """Ways to name a file outside, as a path."""
        out, top = str(self.outside / "canary.py"), str(self.root)
        return [
            out,
            "/" + out,
            "../outside/canary.py",
            "./shop/../../outside/canary.py",
            "shop/../../outside/sub/canary.py",
            "....//outside/canary.py",
            "..\\outside\\canary.py",
            "%2e%2e/outside/canary.py",
            "%2e%2e%2foutside%2fcanary.py",
            "%252e%252e%252foutside%252fcanary.py",
            "..%5coutside%5ccanary.py",
            "..%c0%afoutside%c0%afcanary.py",
            "..;/outside/canary.py",
            "..\u2215outside\u2215canary.py",
            "\uff0e\uff0e/outside/canary.py",
            "link.py",
            "linked/canary.py",
            "linked/sub/../canary.py",
            "linked",
            "up/outside/canary.py",
            "up/home/canary.py",
            "proc/environ",
            "proc/root" + out,
            "proc/cwd/../outside/canary.py",
            f"{top}/../outside/canary.py",
            f"{top}/%2e%2e/outside/canary.py",
            f"{top}-twin/canary.py",
            f"{top}/link.py",
            f"{top}/linked/canary.py",
            f"/proc/self/root{out}",
            "/proc/self/cwd/../outside/canary.py",
            "/proc/self/environ",
            "/proc/thread-self/environ",
            "/dev/stdin",
            "/dev/fd/0",
            "~/canary.py",
            "~root/canary.py",
            "$HOME/canary.py",
            "${HOME}/canary.py",
            "%HOME%\\canary.py",
            "\\\\localhost\\share\\canary.py",
            "\\\\?\\" + out,
            "//localhost" + out,
            "C:\\outside\\canary.py",
            "C:../outside/canary.py",
            out + "\0",
            out + "\0.py",
            "shop/cart.py\0/../../outside/canary.py",
            out + "/",
            out + "/.",
            out + "::$DATA",
            out + "\n",
            " " + out,
            "*/../../outside/*",
            "../**/canary.py",
            str(self.outside) + "/**",
            "work-twin:canary.py",
            "work:../outside/canary.py",
            "HEAD:../outside/canary.py",
            "HEAD:link.py",
            f"--no-index {out}",
            f"..--output={out}",
        ]

    def uris(self) -> list[str]:
        """Ways to name a file outside, as a URI."""
        out, top = str(self.outside / "canary.py"), self.root.as_uri()
        plain = [p for p in self.paths() if "\0" not in p]
        return [
            *(f"file://{p if p.startswith('/') else '/' + p}" for p in plain[:6]),
            f"file:{out}",
            f"FILE://{out}",
            f"file://localhost{out}",
            f"file://LOCALHOST{out}",
            f"file://127.0.0.1{out}",
            f"file://elsewhere{out}",
            f"file:////{out}",
            f"file://{out}%00",
            f"file://{out}%00.py",
            f"file://{out}?x=1",
            f"file://{out}#L1",
            f"file://{quote(out, safe='')}",
            "file:///proc/self/environ",
            f"file:///proc/self/root{out}",
            "file:///dev/stdin",
            "file:///dev/fd/0",
            "file://~/canary.py",
            "file:///~/canary.py",
            f"{top}/../outside/canary.py",
            f"{top}/%2e%2e/outside/canary.py",
            f"{top}/%252e%252e/outside/canary.py",
            f"{top}/..%2foutside%2fcanary.py",
            f"{top}/..%5coutside%5ccanary.py",
            f"{top}/shop/../../outside/canary.py",
            f"{top}/link.py",
            f"{top}/linked/canary.py",
            f"{top}/up/outside/canary.py",
            f"{top}/proc/environ",
            f"{top}-twin/canary.py",
            f"{top}/AGENTS.md",
            f"{top}/package.json",
            f"http://localhost{out}",
            f"vscode-remote://ssh-remote+x{out}",
            f"git:{out}?%7B%7D",
            f"untitled:{out}",
            f"promptls:{out}",
            "promptls:../outside/canary.py",
            f"data:text/plain,{out}",
            f"jar:file://{out}!/x",
        ]

    def shapes(self, path: str) -> list[str]:
        """The mentions that could lead to a path: every kind that takes an argument, and files in every form."""
        safe = path.replace('"', "").replace("\n", "")
        named = [k.name for k in BUILT_IN if k.argument != "none"]
        bare = [f"@{safe}", f"@{safe}:1-3", f"@{safe}#L1", f"@{safe}/", f"@{safe}#{TOKEN[:6]}", f"@@{safe}"]
        quoted = [f'@"{safe}"', f'@"{safe}":1', f'@"{safe}/"', f'@work:"{safe}"']
        kinds = [f'@{name}:"{safe}"' for name in named] + [f'@{name}:{safe}:"cart"' for name in named]
        return [*bare, *quoted, *kinds]


def told(answer: Any) -> str:
    """All strings of an answer, as they are."""
    if isinstance(answer, dict):
        return "\n".join(f"{k}\n{told(v)}" for k, v in answer.items())
    if isinstance(answer, list):
        return "\n".join(map(told, answer))
    return str(answer)


def seal(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """What lies below a folder: any change there, or a new name, makes another value."""
    found = {}
    for place in sorted(folder.rglob("*")):
        stat = place.lstat()
        data = place.read_bytes() if S_ISREG(stat.st_mode) else b""
        found[str(place)] = (stat.st_mode, len(data), data)
    return found


def unused_socket() -> socket.socket:
    """A socket that listens on this machine, for counting who knocks."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock
