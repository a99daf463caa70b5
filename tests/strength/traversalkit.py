"""Path traversal values: paths, URIs and mentions that try to reach a file outside the workspace.

`CanaryWorkspace` creates a workspace next to folders that must not be read. Every file in them contains `CANARY`, a
word that does not occur elsewhere, so a search in a response detects a leak.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import Any
from urllib.parse import quote

from conftest import make_shop
from promptls.knowledge.project.manifests import MANIFEST_PARSERS
from promptls.knowledge.rule_files import CONVENTIONS
from promptls.mentions.registry import BUILT_IN

CANARY = "kumquatzebra7319"
"""Single word that can also be a symbol, a heading, a package or a rule."""

BODY = f"""\
{CANARY} = 1
{CANARY} = 2
def {CANARY}(): return "{CANARY}"
# {CANARY}
"""

CONTENTS = {
    ".json": f'{{"name": "{CANARY}", "description": "{CANARY}", "dependencies": {{"{CANARY}": "1"}}, "version": 1,'
    f' "entries": [{{"id": "a", "category": "rule", "title": "{CANARY}", "content": "{CANARY} cart discount",'
    ' "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}]}\n',
    ".toml": f'[project]\nname = "{CANARY}"\ndescription = "{CANARY}"\n\n[package]\nname = "{CANARY}"\n',
    ".md": f"# {CANARY}\n\nAlways say {CANARY} of a cart.\n",
    "go.mod": f"module {CANARY}\n",
    "CODEOWNERS": f"* @{CANARY}\n",
    "gitignore": f"{CANARY}*\n*.nothing\n",
    "recipe.md": f"---\ntitle: {CANARY}\ndescription: {CANARY}\n---\nDo {CANARY}.\n",
}


def content_for(name: str) -> str:
    """Return valid content with the canary for a file name."""
    return next((text for ending, text in CONTENTS.items() if name.endswith(ending)), BODY)


class CanaryWorkspace:
    """A workspace at `root`; canaries are in `outside`, `sibling`, `home` and the environment."""

    def __init__(self, folder: Path) -> None:
        self.root = make_shop(folder / "work")
        self.outside = folder / "outside"
        self.sibling = folder / "work-twin"  # its name starts with the name of the root
        self.home = folder / "home"
        for parent in (self.outside, self.sibling, self.home):
            parent.mkdir()
            (parent / "canary.py").write_text(BODY)
            (parent / "sub").mkdir()
            (parent / "sub" / "canary.py").write_text(BODY)
        (self.root / "link.py").symlink_to(self.outside / "canary.py")
        (self.root / "linked").symlink_to(self.outside)
        (self.root / "up").symlink_to("..")
        (self.root / "proc").symlink_to("/proc/self")
        self._link_conventional_files()
        self.env = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "none"), "CANARY": CANARY}

    def _link_conventional_files(self) -> None:
        """Create links out of the workspace under every file name that promptls reads by convention."""
        names = [name for family in CONVENTIONS for name in family.files]
        names += [f"{family.folder}/linked{family.extensions[0]}" for family in CONVENTIONS if family.folder]
        names += ["README", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md", "tsconfig.json", "CODEOWNERS"]
        names += [".github/CODEOWNERS", ".promptls/memory.json", ".promptls/recipes/recipe.md"]
        names += [
            ".promptlsignore",
            "web/.gitignore",
            ".mailmap",
            ".gitattributes",
            *(name for name in MANIFEST_PARSERS if "*" not in name),
        ]
        for number, name in enumerate(dict.fromkeys(names)):
            link, target = self.root / name, self.outside / f"{number}" / name.rsplit("/", 1)[-1]
            if link.parent.is_file() or os.path.lexists(link):
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            target.parent.mkdir()
            target.write_text(content_for(name))
            link.symlink_to(target)

    def paths(self) -> list[str]:
        """Return paths that try to name a file outside the workspace."""
        out, top = str(self.outside / "canary.py"), str(self.root)
        return [
            out, "/" + out, "../outside/canary.py", "./shop/../../outside/canary.py",
            "shop/../../outside/sub/canary.py", "....//outside/canary.py", "..\\outside\\canary.py",
            "%2e%2e/outside/canary.py", "%2e%2e%2foutside%2fcanary.py", "%252e%252e%252foutside%252fcanary.py",
            "..%5coutside%5ccanary.py", "..%c0%afoutside%c0%afcanary.py", "..;/outside/canary.py",
            "..\u2215outside\u2215canary.py", "\uff0e\uff0e/outside/canary.py", "link.py", "linked/canary.py",
            "linked/sub/../canary.py", "linked", "up/outside/canary.py", "up/home/canary.py", "proc/environ",
            "proc/root" + out, "proc/cwd/../outside/canary.py", f"{top}/../outside/canary.py",
            f"{top}/%2e%2e/outside/canary.py", f"{top}-twin/canary.py", f"{top}/link.py", f"{top}/linked/canary.py",
            f"/proc/self/root{out}", "/proc/self/cwd/../outside/canary.py", "/proc/self/environ",
            "/proc/thread-self/environ", "/dev/stdin", "/dev/fd/0", "~/canary.py", "~root/canary.py",
            "$HOME/canary.py", "${HOME}/canary.py", "%HOME%\\canary.py", "\\\\localhost\\share\\canary.py",
            "\\\\?\\" + out, "//localhost" + out, "C:\\outside\\canary.py", "C:../outside/canary.py", out + "\0",
            out + "\0.py", "shop/cart.py\0/../../outside/canary.py", out + "/", out + "/.", out + "::$DATA",
            out + "\n", " " + out, "*/../../outside/*", "../**/canary.py", str(self.outside) + "/**",
            "work-twin:canary.py", "work:../outside/canary.py", "HEAD:../outside/canary.py", "HEAD:link.py",
            f"--no-index {out}", f"..--output={out}",
        ]  # fmt: skip

    def uris(self) -> list[str]:
        """Return URIs that try to name a file outside the workspace."""
        out, top = str(self.outside / "canary.py"), self.root.as_uri()
        plain = [p for p in self.paths() if "\0" not in p]
        return [
            *(f"file://{p if p.startswith('/') else '/' + p}" for p in plain[:6]), f"file:{out}", f"FILE://{out}",
            f"file://localhost{out}", f"file://LOCALHOST{out}", f"file://127.0.0.1{out}", f"file://elsewhere{out}",
            f"file:////{out}", f"file://{out}%00", f"file://{out}%00.py", f"file://{out}?x=1", f"file://{out}#L1",
            f"file://{quote(out, safe='')}", "file:///proc/self/environ", f"file:///proc/self/root{out}",
            "file:///dev/stdin", "file:///dev/fd/0", "file://~/canary.py", "file:///~/canary.py",
            f"{top}/../outside/canary.py", f"{top}/%2e%2e/outside/canary.py", f"{top}/%252e%252e/outside/canary.py",
            f"{top}/..%2foutside%2fcanary.py", f"{top}/..%5coutside%5ccanary.py",
            f"{top}/shop/../../outside/canary.py", f"{top}/link.py", f"{top}/linked/canary.py",
            f"{top}/up/outside/canary.py", f"{top}/proc/environ", f"{top}-twin/canary.py", f"{top}/AGENTS.md",
            f"{top}/package.json", f"http://localhost{out}", f"vscode-remote://ssh-remote+x{out}",
            f"git:{out}?%7B%7D", f"untitled:{out}", f"promptls:{out}", "promptls:../outside/canary.py",
            f"data:text/plain,{out}", f"jar:file://{out}!/x",
        ]  # fmt: skip

    def mention_forms(self, path: str) -> list[str]:
        """Return mentions of a path: every kind that takes an argument, and files in every notation."""
        safe = path.replace('"', "").replace("\n", "")
        named = [k.name for k in BUILT_IN if k.argument != "none"]
        unquoted = [f"@{safe}", f"@{safe}:1-3", f"@{safe}#L1", f"@{safe}/", f"@{safe}#{CANARY[:6]}", f"@@{safe}"]
        quoted = [f'@"{safe}"', f'@"{safe}":1', f'@"{safe}/"', f'@work:"{safe}"']
        kinds = [f'@{name}:"{safe}"' for name in named] + [f'@{name}:{safe}:"cart"' for name in named]
        return [*unquoted, *quoted, *kinds]


def response_text(answer: Any) -> str:
    """Return all keys and values of a response as text."""
    if isinstance(answer, dict):
        return "\n".join(f"{k}\n{response_text(v)}" for k, v in answer.items())
    if isinstance(answer, list):
        return "\n".join(map(response_text, answer))
    return str(answer)


def folder_contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, size and content of everything below a folder."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        data = path.read_bytes() if S_ISREG(stat.st_mode) else b""
        contents[str(path)] = (stat.st_mode, len(data), data)
    return contents
