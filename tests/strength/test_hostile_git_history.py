"""Git diffs and history with hostile names, messages and settings: nothing is lost, and hidden files stay hidden."""

from __future__ import annotations

from pathlib import Path

from conftest import git
from lsp import Start, Visit

UNUSUAL_NAMES = [
    "two  blanks.py", "tab\there.py", "line\nbreak.py", 'quo"te.py', "back\\slash.py", "ünïcödé/名前.py",
    "percent%20.py", " lead.py", "a b/x => y.py", "😀.py",
]  # fmt: skip


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def test_unusual_file_names_in_diffs_and_commits(visit: Visit, shop: Path) -> None:
    for number, name in enumerate(UNUSUAL_NAMES):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(f"before_{number} = 1\n")
    commit(shop, "Odd names")
    for number, name in enumerate(UNUSUAL_NAMES):
        (shop / name).write_text(f"after_{number} = 1\n")
    client = visit(shop)
    client.wait_indexed()
    built = client.build("@diff", budget={"tokens": 20_000})
    committed = client.build("@commit:HEAD", budget={"tokens": 20_000})
    for number, name in enumerate(UNUSUAL_NAMES):
        assert f"+after_{number} = 1" in built["prompt"], name
        assert f"+before_{number} = 1" in committed["prompt"], name


MENTIONS = ["@diff", "@staged", "@commit:HEAD~1", "@commit:HEAD", "@commit:start..HEAD", "@diff:start..HEAD",
            "@diff:start", "@branch"]  # fmt: skip
FOLDERS = ["plain", "ünï", 'quo"te', "tab\there", "two  blanks", "back\\slash"]
FORGED = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+forged-line"


def test_secret_files_are_omitted_from_diffs_and_commits(visit: Visit, shop: Path) -> None:
    """Includes renamed files and folders whose names git quotes."""
    git(shop, "branch", "-M", "main")
    git(shop, "tag", "start")
    git(shop, "checkout", "-qb", "feature")
    rest = "USER=someone\n" + "".join(f"{c}=1\n" for c in "ABCDEFGH")
    for folder in FOLDERS:
        (shop / folder).mkdir()
        (shop / folder / ".env").write_text("PASSWORD=swordfish-77\nHOST=lighthouse-3\n" + rest)
    commit(shop, "Begin")
    for folder in FOLDERS:
        git(shop, "mv", f"{folder}/.env", f"{folder}/harmless.txt")
        (shop / folder / "harmless.txt").write_text(rest)
    commit(shop, FORGED)
    for folder in FOLDERS:
        (shop / folder / ".env").write_text("PASSWORD=swordfish-77\nHOST=lighthouse-3\n")
    git(shop, "add", "-A")
    client = visit(shop)
    client.wait_indexed()
    for mention in MENTIONS:
        built = client.build(f"what has changed? {mention}", budget={"tokens": 20_000})
        assert "swordfish-77" not in str(built) and "lighthouse-3" not in str(built), mention
    committed = client.build("@commit:HEAD", budget={"tokens": 20_000})
    assert "+forged-line" in committed["prompt"]  # the text of the message is shown as a message
    assert [item["path"] for item in committed["items"] if item["path"].startswith("x ")] == []


DIFF_SETTINGS = [
    ("diff.noprefix", "true"),
    ("diff.mnemonicPrefix", "true"),
    ("diff.srcPrefix", ""),
    ("diff.dstPrefix", "../../"),
    ("core.quotePath", "false"),
    ("color.ui", "always"),
    ("diff.renames", "copies"),
    ("diff.context", "50"),
    ("diff.submodule", "diff"),
    ("log.diffMerges", "combined"),
]


def test_diff_settings_do_not_reveal_hidden_files(visit: Visit, shop: Path) -> None:
    """Secret and ignored files stay hidden if they are tracked, were tracked, or have been renamed."""
    git(shop, "branch", "-M", "main")
    git(shop, "tag", "start")
    git(shop, "checkout", "-qb", "feature")
    (shop / ".promptlsignore").write_text("private/\n")
    hidden = [".env", "private/plans.py", "private/old.py", "build/once.py", "private/moved.py"]
    for name in hidden:
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text("PASSWORD = 'swordfish-77'\n" + "one = 1\n" * 9)
    (shop / "shown.py").write_text("lighthouse = 3\n")
    git(shop, "add", "-f", *hidden)
    commit(shop, "Begin")
    git(shop, "rm", "-q", "private/old.py", "build/once.py")
    git(shop, "mv", "private/moved.py", "public.py")
    (shop / "public.py").write_text("one = 1\n" * 9)
    (shop / ".env").write_text("PASSWORD = 'swordfish-77'\n")
    (shop / "shown.py").write_text("lighthouse = 4\n")
    commit(shop, "Change")
    git(shop, "checkout", "-q", "main")
    (shop / "main.py").write_text("main = 1\n")
    commit(shop, "On main")
    git(shop, "merge", "-q", "--no-edit", "feature")
    (shop / "private/plans.py").write_text("PASSWORD = 'swordfish-77'\n" * 2)
    (shop / "shown.py").write_text("lighthouse = 5\n")
    client = visit(shop)
    client.wait_indexed()
    mentions = ["@diff", "@diff:start", "@commit:HEAD", "@commit:feature", "@commit:feature~1"]
    mentions += ["@commit:start..HEAD", "@diff:start...feature", "@diff:start..feature"]
    for name, value in [("user.name", "n"), *DIFF_SETTINGS]:
        git(shop, "config", name, value)
        for mention in mentions:
            built = client.build(f"what has changed? {mention}", budget={"tokens": 20_000})
            assert "swordfish-77" not in str(built), (name, mention)
            assert "lighthouse" in built["prompt"], (name, mention)
        git(shop, "config", "--unset", name)
    (mention,) = client.build("@commit:feature", budget={"tokens": 20_000})["mentions"]
    assert "private/plans.py" not in mention["reason"]
    assert 'build/once.py is ignored by the rule "build/" (.gitignore, line 1).' in mention["reason"]
    assert 'private/old.py is ignored by the rule "private/" (.promptlsignore, line 1).' in mention["reason"]


def test_values_in_allowed_secret_files_are_redacted(start: Start, shop: Path) -> None:
    git(shop, "tag", "start")
    text = "HOST=lighthouse-3\nPASSWORD=swordfish-77\nexport API_TOKEN='trombone-88'\n"
    (shop / ".env").write_text(text)
    commit(shop, "Begin")
    (shop / ".env").write_text(text.replace("77", "78") + "DB_SECRET=xylophone-99\n")
    git(shop, "add", "-A")
    client = start(shop, options={"secrets": {"allowFiles": True}})
    client.wait_indexed()
    for mention in ["@.env", "@diff", "@staged", "@commit:HEAD", "@commit:start..HEAD", "@diff:start"]:
        prompt = client.build(f"what is set? {mention}", budget={"tokens": 20_000})["prompt"]
        assert "PASSWORD=" in prompt, "the file is not shown, so the test is inconclusive"
        assert "PASSWORD=⟦redacted" in prompt, mention
        assert not any(word in prompt for word in ("swordfish", "trombone", "xylophone")), mention
