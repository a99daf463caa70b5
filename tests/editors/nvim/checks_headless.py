"""What needs no typing: golden messages, adapters, units, the help, the health check, and the plugin's files."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from suite import HERE, PLUGIN, ROOT, Session, check, expect, ready

LUA = HERE / "lua"


@check("every golden message of the server is shown", alone=True)
def shows_golden(session: Session) -> None:
    said = session.headless(LUA / "golden.lua", str(ROOT / "tests" / "protocol"))
    count = len(list((ROOT / "tests" / "protocol" / "golden").glob("*.json")))
    expect(f"{count} messages are shown" in said, "all of them are", said)


@check("options, arguments, positions, folders, rendering and pasting", alone=True)
def units(session: Session) -> None:
    expect("units are right" in session.headless(LUA / "units.lua"), "all units ran")


@check("adapters: codecompanion.nvim, CopilotChat.nvim, avante.nvim (stand-ins, or $PROMPTLS_NVIM_PLUGINS)", alone=True)
def adapts(session: Session) -> None:
    folder = Path(os.environ.get("PROMPTLS_NVIM_PLUGINS") or HERE / "stand-ins")
    session.env["OPENAI_API_KEY"] = "none"
    said = session.headless(LUA / "adapters.lua", str(folder))
    for name in ("codecompanion", "CopilotChat", "avante"):
        expect(f"{name} works" in said, f"{name} works with {folder}", said)


@check("the health check finds everything in order, and tells what is not", alone=True)
def is_healthy(session: Session) -> None:
    editor = session.code()
    whole = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"

    def checked() -> str:
        editor.command("checkhealth promptls")
        text = editor.wait(
            "it is done", lambda: "prompts can be sent to" in editor.lua(whole) and editor.lua(whole), 60
        )
        editor.command("bwipeout")
        return str(text)

    text = checked()
    expect("ERROR" not in text and "WARNING" not in text, "all is in order", text)
    for wanted in ("from the PATH", "promptls 0.", "ready: ", "vim.lsp.enable('promptls') was called", "positions in"):
        expect(wanted in text, f"{wanted!r} is told", text)
    editor.lua("vim.g.promptls = { cmd = '/nowhere/promptls', keys = 1 }")
    text = checked()
    expect("ERROR The option cmd names /nowhere/promptls" in text, "what is wrong is told", text)
    expect("ERROR The option keys must be a boolean, not a number." in text, "options, too", text)


@check("the help has a tag for everything, and no link leads nowhere", alone=True)
def helps(session: Session) -> None:
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    folder = session.folder / "doc"
    folder.mkdir()
    text = (PLUGIN / "doc" / "promptls.txt").read_text()
    (folder / "promptls.txt").write_text(text)
    editor.lua("vim.cmd.helptags(...)", str(folder))
    tags = {line.split("\t")[0] for line in (folder / "tags").read_text().splitlines()}
    wanted = {f":Promptls-{name}" for name in editor.lua("return require('promptls.usercmd').names()")}
    options = editor.lua("return vim.tbl_keys(require('promptls.config').defaults)")
    wanted |= {f"promptls-option-{name}" for name in [*options, "complete"]}
    wanted |= {f"promptls.{name}()" for name in editor.lua("return vim.tbl_keys(require('promptls'))")}
    plugs = "return vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_get_keymap('n'))"
    wanted |= {plug for plug in editor.lua(plugs) if plug.startswith("<Plug>(promptls-")}
    expect(len(wanted) > 40 and not wanted - tags, "everything has a tag", sorted(wanted - tags))
    groups = set(re.findall(r"^  (Promptls\w+) =", (PLUGIN / "lua/promptls/highlights.lua").read_text(), re.MULTILINE))
    expect(groups and not {g for g in groups if g not in text}, "every colour is named", groups)
    known = "return #vim.fn.getcompletion(..., 'help') > 0"
    for link in set(re.findall(r"\|([^|\s]+)\|", text)):
        expect(link in tags or editor.lua(known, link), f"|{link}| leads somewhere")
    expect(not [line for line in text.splitlines() if len(line) > 79], "no line is too long for a help window")
    editor.command("set rtp+=" + str(session.folder))
    editor.command("help promptls-start")
    editor.sees("2. First steps")


@check("the defaults in the help and in the README are the real ones", alone=True)
def documents_defaults(session: Session) -> None:
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    same = """
      local given = loadstring('local vim = { g = {} } ' .. ... .. ' return vim.g.promptls')()
      return vim.deep_equal(given, require('promptls.config').defaults)
    """
    for file in (PLUGIN / "doc" / "promptls.txt", PLUGIN / "README.md"):
        text = file.read_text()
        found = re.search(r"vim\.g\.promptls = \{\s+cmd.*?^ *\}$", text, re.DOTALL | re.MULTILINE)
        expect(found and editor.lua(same, found.group()), f"{file.name} has the defaults", found and found.group())


@check("every file of the plugin begins with what it is for, parses, and fits the page", alone=True)
def is_tidy(session: Session) -> None:
    files = [*PLUGIN.rglob("*.lua"), *LUA.glob("*.lua"), *HERE.glob("stand-ins/**/*.lua")]
    expect(len(files) > 30, "files are found", len(files))
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    for file in files:
        text = file.read_text()
        problem = editor.lua("return select(2, loadstring(..., 'file'))", text)
        expect(not problem, f"{file.name} parses", problem)
        expect(text.startswith("-- "), f"{file.name} begins with a comment")
        long = [line for line in text.splitlines() if len(line) > 120]
        if file.name != "settings.lua":  # generated
            expect(not long, f"{file.name} has no line of more than 120 characters", long)
    for module in sorted((PLUGIN / "lua").rglob("*.lua")):
        name = str(module.relative_to(PLUGIN / "lua")).removesuffix(".lua").replace("/", ".").removesuffix(".init")
        editor.lua("require(...)", name)


@check("the plugin loads nothing of its own but what it declares, and starts in a moment", alone=True)
def loads_late(session: Session) -> None:
    session.init("")
    editor = session.start()
    loaded = """
      local out = {}
      for name in pairs(package.loaded) do if vim.startswith(name, 'promptls') then out[#out + 1] = name end end
      table.sort(out)
      return out
    """
    found = editor.lua(loaded)
    expect(found == ["promptls.config", "promptls.documents"], "only what tracks buffers is loaded", found)
    times = session.folder / "times"
    command = [*editor.process.args[:1], "--headless", "--startuptime", str(times), "+qall"]
    subprocess.run(command, cwd=session.workspace, env={**os.environ, **session.env}, check=True, timeout=60)
    spent = [line.split() for line in times.read_text().splitlines() if "plugin/promptls.lua" in line]
    expect(spent and float(spent[0][1]) < 50, "it takes a moment", spent)
    session.init("vim.lsp.enable('promptls')")
    ready(session.code())
