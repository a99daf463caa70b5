"""Checks without typing: golden messages, unit tests, adapters, health check, help file and source files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap

from release import nvim_plugin
from suite import HERE, PLUGIN, ROOT, Session, check, expect, wait_page, wait_ready

LUA = HERE / "lua"


@check("all golden messages of the server are displayed", isolated=True)
def golden_messages_are_displayed(session: Session) -> None:
    output = session.run_headless(LUA / "golden.lua", str(ROOT / "tests" / "protocol"))
    count = len(list((ROOT / "tests" / "protocol" / "golden").glob("*.json")))
    expect(f"{count} golden messages displayed" in output, "all golden messages are displayed", output)


@check("unit tests: options, arguments, positions, workspace roots, rendering", isolated=True)
def unit_tests_pass(session: Session) -> None:
    expect("unit tests passed" in session.run_headless(LUA / "units.lua"), "all unit tests ran")


@check("adapters: codecompanion.nvim, CopilotChat.nvim, avante.nvim (fakes)", isolated=True)
def adapters_work(session: Session) -> None:
    output = session.run_headless(LUA / "adapters.lua", str(HERE / "fakes"))
    for name in ("codecompanion", "CopilotChat", "avante"):
        expect(f"{name} passed" in output, f"the adapter works with {name}", output)


@check("the health check reports a valid installation and invalid options", isolated=True)
def health_check_reports_problems(session: Session) -> None:
    editor = session.open_code()
    buffer_text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"

    def run_health_check() -> str:
        editor.command("checkhealth promptls")
        text = editor.wait(
            "the health check is complete",
            lambda: "prompts can be sent to" in editor.lua(buffer_text) and editor.lua(buffer_text),
            60,
        )
        editor.command("bwipeout")
        return str(text)

    editor.lua("vim.cmd.helptags('ALL')")
    text = run_health_check()
    expect("ERROR" not in text and "WARNING" not in text, "a valid installation has no problems", text)
    for part in ("from the PATH", "promptls 0.", "ready: ", "the language server is enabled", "position encoding"):
        expect(part in text, f"the report contains {part!r}", text)
    editor.lua("vim.g.promptls = { cmd = '/nowhere/promptls', keys = 1 }")
    text = run_health_check()
    expect("ERROR Option cmd: /nowhere/promptls is not executable" in text, "an invalid command is reported", text)
    expect("ERROR Option keys must be a boolean, not a number." in text, "an invalid option is reported", text)


@check("the README's installation makes :help promptls and :checkhealth promptls work", isolated=True)
def installation_of_the_readme_works(session: Session) -> None:
    shutil.rmtree(session.home / ".local")
    nvim_plugin(ROOT, session.folder / "promptls.nvim-X.Y.Z.tar.gz", "X.Y.Z", 0)
    readme = (PLUGIN / "README.md").read_text()
    shell, lua = (re.search(rf"```{language}\n(.*?)```", readme, re.DOTALL) for language in ("sh", "lua"))
    install, *script = textwrap.dedent(shell.group(1)).splitlines()
    expect(install.startswith("uv tool install "), "the first step installs the server", install)
    (session.programs / "promptls").unlink()
    session.write_server_script(session.home / ".local" / "bin" / "promptls")
    session.env["PATH"] = "/usr/bin:/bin"
    command = ["sh", "-ec", "\n".join(script)]
    subprocess.run(command, cwd=session.folder, env={**os.environ, **session.env}, check=True, timeout=120)
    session.write_init(textwrap.dedent(lua.group(1)))
    editor = session.start()
    editor.command("help promptls")
    editor.wait_text("promptls turns a question with @-mentions into a prompt")
    editor.command("only")
    editor.command("checkhealth promptls")
    buffer_text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
    editor.wait("the health check is complete", lambda: "prompts can be sent to" in editor.lua(buffer_text), 60)
    text = editor.lua(buffer_text)
    expect("ERROR" not in text and "WARNING" not in text, "the installation has no problems", text)
    started_when = "no server is running; it starts when a file of a workspace is opened or :Promptls is used"
    expect(started_when in text, "the report tells when the server starts", text)
    start = session.home / ".local/share/nvim/site/pack/promptls/start"
    (start / "promptls.nvim-X.Y.Z/doc/tags").unlink()
    editor.command("checkhealth promptls")
    editor.wait("missing tags are reported", lambda: "has no tags" in editor.lua(buffer_text), 60)


@check("`promptls install nvim` makes the plugin, its help and the server work without a configuration", isolated=True)
def installation_by_the_server_works(session: Session) -> None:
    shutil.rmtree(session.home / ".local")
    shutil.rmtree(session.home / ".config")
    installer = session.programs / "promptls"
    subprocess.run(
        [installer, "install", "nvim"], env={**os.environ, **session.env}, check=True, timeout=120, capture_output=True
    )
    installer.unlink()  # Neovim has to find the server without the PATH
    folder = session.home / ".local/share/nvim/site/pack/promptls/start/promptls"
    tags = (folder / "doc/tags").read_text()
    editor = session.open_code()
    editor.command("help promptls")
    editor.wait_text("promptls turns a question with @-mentions into a prompt")
    editor.command("only")
    editor.command("Promptls build How is money rounded? @#rounded")
    expect("@#rounded" in wait_page(editor), "the prompt is built")
    editor.lua("vim.cmd.helptags('ALL')")
    expect((folder / "doc/tags").read_text() == tags, "the tags are those of :helptags")


@check("the help file has a tag for every command, option, function and mapping, and valid links", isolated=True)
def help_file_is_complete(session: Session) -> None:
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    folder = session.folder / "doc"
    folder.mkdir()
    text = (PLUGIN / "doc" / "promptls.txt").read_text()
    (folder / "promptls.txt").write_text(text)
    editor.lua("vim.cmd.helptags(...)", str(folder))
    tags = {line.split("\t")[0] for line in (folder / "tags").read_text().splitlines()}
    expected = {f":Promptls-{name}" for name in editor.lua("return require('promptls.usercmd').names()")}
    options = editor.lua("return vim.tbl_keys(require('promptls.config').defaults)")
    expected |= {f"promptls-option-{name}" for name in [*options, "complete"]}
    expected |= {f"promptls.{name}()" for name in editor.lua("return vim.tbl_keys(require('promptls'))")}
    plugs = "return vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_get_keymap('n'))"
    expected |= {plug for plug in editor.lua(plugs) if plug.startswith("<Plug>(promptls-")}
    expect(len(expected) > 40 and not expected - tags, "all names have a tag", sorted(expected - tags))
    groups = set(re.findall(r"\b(Promptls\w+) = '", (PLUGIN / "lua/promptls/page.lua").read_text()))
    expect(groups and not {g for g in groups if g not in text}, "all highlight groups are documented", groups)
    is_help_tag = "return #vim.fn.getcompletion(..., 'help') > 0"
    for link in set(re.findall(r"\|([^|\s]+)\|", text)):
        expect(link in tags or editor.lua(is_help_tag, link), f"|{link}| is a valid link")
    expect(not [line for line in text.splitlines() if len(line) > 79], "all lines have at most 79 characters")
    editor.command("set rtp+=" + str(session.folder))
    editor.command("help promptls-start")
    editor.wait_text("2. First steps")


@check("the help file and the README document the actual defaults", isolated=True)
def documented_defaults_are_current(session: Session) -> None:
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    equals_defaults = """
      local documented = loadstring('local vim = { g = {} } ' .. ... .. ' return vim.g.promptls')()
      return vim.deep_equal(documented, require('promptls.config').defaults)
    """
    for file in (PLUGIN / "doc" / "promptls.txt", PLUGIN / "README.md"):
        text = file.read_text()
        match = re.search(r"vim\.g\.promptls = \{\s+cmd.*?^ *\}$", text, re.DOTALL | re.MULTILINE)
        is_current = match and editor.lua(equals_defaults, match.group())
        expect(is_current, f"{file.name} has the defaults", match and match.group())


@check("all Lua files start with a comment, parse, and have at most 120 columns", isolated=True)
def lua_files_are_valid(session: Session) -> None:
    files = [*PLUGIN.rglob("*.lua"), *LUA.glob("*.lua"), *HERE.glob("fakes/**/*.lua")]
    expect(len(files) > 30, "Lua files exist", len(files))
    editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}")
    for file in files:
        text = file.read_text()
        problem = editor.lua("return select(2, loadstring(..., 'file'))", text)
        expect(not problem, f"{file.name} parses", problem)
        expect(text.startswith("-- "), f"{file.name} starts with a comment")
        long_lines = [line for line in text.splitlines() if len(line) > 120]
        if file.name not in ("settings.lua", "tools.lua"):  # generated
            expect(not long_lines, f"{file.name} has at most 120 columns", long_lines)
    for module in sorted((PLUGIN / "lua").rglob("*.lua")):
        name = str(module.relative_to(PLUGIN / "lua")).removesuffix(".lua").replace("/", ".").removesuffix(".init")
        editor.lua("require(...)", name)


@check("start-up loads only two modules", isolated=True)
def start_up_loads_little(session: Session) -> None:
    session.write_init("")
    editor = session.start()
    loaded_modules = """
      local out = {}
      for name in pairs(package.loaded) do if vim.startswith(name, 'promptls') then out[#out + 1] = name end end
      table.sort(out)
      return out
    """
    modules = editor.lua(loaded_modules)
    expect(modules == ["promptls.config", "promptls.documents"], "only the tracking of buffers is loaded", modules)
    session.write_init("vim.lsp.enable('promptls')")
    wait_ready(session.open_code())
