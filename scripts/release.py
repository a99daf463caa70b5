"""Build the files of a release from the last commit, reproducibly, and test them with `scripts/smoke.py`.

Only files of the commit are used, so that nothing else gets into a release. All times are the time of the commit.
Archives contain sorted entries with fixed owners and modes: two builds of one commit are identical to the byte.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import smoke

ROOT = Path(__file__).resolve().parent.parent
EDITORS = Path(os.environ.get("PROMPTLS_EDITORS", "/tmp/promptls-editors"))
"""Folder of `scripts/test --editors`. Its npm packages are used if they are those of the commit."""

NVIM_FOLDERS = ("doc", "ftplugin", "lsp", "lua", "plugin", "syntax")
HELP_TAG = re.compile(r"(?:(?<=\s)|^)\*([^*\s|]+)\*(?=\s|$)", re.M)


def output_of(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output; exit with its output if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nscripts/release: {' '.join(command)} failed.")
    return done.stdout


def export(folder: Path) -> int:
    """Write the files of the last commit into a folder; return the time of the commit."""
    archive = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="fully_trusted")
    if output_of(["git", "status", "--porcelain"], ROOT).strip():
        print("Uncommitted changes are not part of the release.", file=sys.stderr)
    return int(output_of(["git", "log", "-1", "--format=%ct"], ROOT))


def version_of(source: Path) -> str:
    """Return the version in `promptls/__init__.py`. VS Code accepts three numbers only."""
    text = (source / "server" / "promptls" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.M)
    if found is None:
        sys.exit("scripts/release: __version__ in promptls/__init__.py must have the form X.Y.Z.")
    return found[1]


def python_packages(source: Path, out: Path, environment: Mapping[str, str]) -> None:
    """Build the sdist, and the wheel from the sdist, which shows that the sdist is complete."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "build",
        "--quiet",
        "--no-create-gitignore",
        "--out-dir",
        str(out),
        str(source),
    ]
    output_of(command, source, environment)


def vscode_extension(source: Path, target: Path, environment: Mapping[str, str], epoch: int) -> None:
    """Build the VSIX with vsce and pack its entries again, sorted and with fixed times and modes."""
    folder = source / "editors" / "vscode"
    cached = EDITORS / "vscode" / "extension"
    lock = (folder / "package-lock.json").read_bytes()
    if (cached / ".ready").exists() and (cached / "package-lock.json").read_bytes() == lock:
        shutil.copytree(cached / "node_modules", folder / "node_modules", symlinks=True, copy_function=link_or_copy)
    else:
        output_of(["npm", "ci", "--ignore-scripts"], folder, environment)
    output_of(["npm", "run", "package"], folder, environment)
    stamp = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(folder / "promptls.vsix") as packed, zipfile.ZipFile(target, "w") as out:
        for name in sorted(packed.namelist()):
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = 0o100644 << 16
            out.writestr(entry, packed.read(name), zipfile.ZIP_DEFLATED, 9)


def link_or_copy(file: str, target: str) -> None:
    """Link a file; copy it to another file system."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copy2(file, target)


def emacs_package(source: Path, target: Path, version: str, epoch: int) -> None:
    """Write a multi-file package for `package-install-file`, with the headers of promptls.el."""
    folder = source / "editors" / "emacs"
    main = (folder / "promptls.el").read_text("utf-8")
    summary = re.search(r"^;;; promptls\.el --- (.*?)\s+-\*-", main)
    requires = re.search(r"^;; Package-Requires: (.*)$", main, re.M)
    assert summary is not None and requires is not None
    definition = f'(define-package "promptls" "{version}" {json.dumps(summary[1])} \'{requires[1]})\n'
    files = {file.name: file.read_bytes() for file in folder.glob("*.el")}
    files |= {"promptls-pkg.el": definition.encode(), "README.md": (folder / "README.md").read_bytes()}
    files["LICENSE"] = (source / "LICENSE").read_bytes()
    target.write_bytes(tar_of(f"promptls-{version}", files, epoch))


def nvim_plugin(source: Path, target: Path, version: str, epoch: int) -> None:
    """Write the plugin with the tags of its help file, which `:helptags` would generate."""
    folder = source / "editors" / "nvim"
    paths = [path for name in NVIM_FOLDERS for path in (folder / name).rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    files |= {"doc/tags": help_tags(folder / "doc").encode(), "README.md": (folder / "README.md").read_bytes()}
    files["LICENSE"] = (source / "LICENSE").read_bytes()
    archive = tar_of(f"promptls.nvim-{version}", files, epoch)
    with target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(archive)


def help_tags(folder: Path) -> str:
    """Return the tags file of Vim help files."""
    tags = {tag: file.name for file in folder.glob("*.txt") for tag in HELP_TAG.findall(file.read_text("utf-8"))}
    return "".join(f"{tag}\t{tags[tag]}\t/*{tag}*\n" for tag in sorted(tags))


def tar_of(root: str, files: Mapping[str, bytes], epoch: int) -> bytes:
    """Return a tar archive of files below one folder, in the format that Emacs reads."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted({"", *files, *(f"{parent}/" for path in files for parent in parents(path))}):
            entry = tarfile.TarInfo(f"{root}/{name}".rstrip("/"))
            entry.mtime = epoch
            if name in files:
                entry.size, entry.mode = len(files[name]), 0o644
                tar.addfile(entry, io.BytesIO(files[name]))
            else:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
    return buffer.getvalue()


def parents(path: str) -> list[str]:
    """Return the folders of a relative path, without the root."""
    return [parent.as_posix() for parent in Path(path).parents if parent.name]


def build(out: Path) -> None:
    """Build all files of a release into a folder, which is emptied first."""
    with tempfile.TemporaryDirectory(prefix="promptls-release-") as name:
        source, built = Path(name) / "source", Path(name) / "built"
        source.mkdir()
        built.mkdir()
        epoch = export(source)
        version = version_of(source)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        python_packages(source, built, environment)
        vscode_extension(source, built / f"promptls-{version}.vsix", environment, epoch)
        emacs_package(source, built / f"promptls-{version}.tar", version, epoch)
        nvim_plugin(source, built / f"promptls.nvim-{version}.tar.gz", version, epoch)
        files = sorted(built.iterdir())
        sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
        (built / "SHA256SUMS").write_text(sums, "utf-8")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(built, out)
    for file in files:
        print(f"{file.name}  {(out / file.name).stat().st_size / 1e6:.2f} MB")


def main() -> int:
    """Build, and test if asked; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/release", description="Build the files of a release from the last commit."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the files (default: dist)")
    parser.add_argument("--check", action="store_true", help="install and test each file")
    parser.add_argument("--all", action="store_true", help="with --check: also every installed Python, and pipx")
    options = parser.parse_args()
    build(options.out.resolve())
    return smoke.check(options.out.resolve(), options.all) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
