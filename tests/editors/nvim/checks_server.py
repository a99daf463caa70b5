"""The server's life: where it is found, what it is told, cancelling, restarting, dying, and the code it only reads."""

from __future__ import annotations

import os
import signal
import subprocess

from nvim import Nvim
from suite import PLUGIN, Session, attached, check, expect, offered, preview, ready, said, server_pid

STARTED = "local client = vim.lsp.get_clients({ name = 'promptls' })[1] return client ~= nil and client.initialized"


@check("a request is cancelled: the server answers it as cancelled, nothing is shown, the next one works")
def cancels(session: Session) -> None:
    editor = session.prompt("How is it rounded? @shop/money.py")
    editor.sees("of 8,000 tokens")
    editor.lua("vim.lsp.log.set_level('debug')")
    server = server_pid(editor)
    os.kill(server, signal.SIGSTOP)  # so that the request is under way for as long as it takes
    try:
        # Others before it, so that it is still waiting for its turn when the cancellation comes.
        editor.lua("""
          for _ = 1, 20 do
            require('promptls').build('How is the discount made?', {}, function() end, function() end)
          end
        """)
        editor.type("<CR>")
        pending = """
          local count = 0
          for _, request in pairs(vim.lsp.get_clients({ name = 'promptls' })[1].requests) do
            count = count + (request.method == 'promptls/buildPrompt' and 1 or 0)
          end
          return count
        """
        editor.wait("the requests are under way", lambda: editor.lua(pending) == 21)
        editor.command("Promptls cancel")
        editor.sees("Cancelled.")
    finally:
        os.kill(server, signal.SIGCONT)
    editor.wait("the server has answered", lambda: editor.lua(pending) == 0)
    log = "return table.concat(vim.fn.readfile(vim.lsp.log.get_filename()), '\\n')"
    editor.wait("it was answered as cancelled", lambda: "code = -32800" in editor.lua(log))
    editor.lua("vim.lsp.log.set_level('warn')")
    expect("╭ Prompt" not in editor.screen.text(), "no preview has come")
    editor.type("<CR>")
    expect("# Question" in preview(editor), "the next request is served")


@check("building again while a build is under way cancels the first")
def replaces(session: Session) -> None:
    editor = session.prompt("How is it rounded? @shop/money.py")
    editor.sees("of 8,000 tokens")
    server = server_pid(editor)
    os.kill(server, signal.SIGSTOP)
    try:
        editor.type("<CR>")
        busy = "return require('promptls.client').busy()"
        editor.wait("the first is under way", lambda: editor.lua(busy))
        editor.type("<CR>")
        editor.sees("Cancelled.")
    finally:
        os.kill(server, signal.SIGCONT)
    preview(editor)
    expect(not editor.lua(busy), "nothing is left")


@check("the server is restarted: another process, the same buffers, edits that are not saved included")
def restarts(session: Session) -> None:
    editor = session.prompt("How much is it? @shop/cart.py")
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('cart.py'), 0, 0, false, { '# not saved' })")
    before = server_pid(editor)
    editor.command("Promptls restart")
    editor.wait("another server runs", lambda: server_pid(editor) not in (0, before))
    ready(editor)
    attached(editor)
    editor.type("<CR>")
    expect("# not saved" in preview(editor), "the edit is in the prompt")
    editor.type("q")
    editor.sees_no("╭ Prompt")
    editor.type("GA @#round")
    expect(offered(editor, "@#round")[0] == "@#rounded", "mentions are completed again")


@check("the server is killed: it is started again, says so, and a build works", alone=True)
def survives(session: Session) -> None:
    editor = session.prompt("How is it rounded? @shop/money.py")
    editor.sees("of 8,000 tokens")
    before = server_pid(editor)
    os.kill(before, signal.SIGKILL)
    editor.wait("another server runs", lambda: server_pid(editor) not in (0, before))
    editor.wait("it is said", lambda: "The server had died (signal 9) and runs again." in said(editor))
    ready(editor)
    attached(editor)
    editor.type("<CR>")
    expect("def rounded" in preview(editor), "a build works")


@check("a request that the server dies of is told, and a server that keeps dying is left alone", alone=True)
def gives_up(session: Session) -> None:
    session.init("vim.g.promptls = { restarts = 2 } vim.lsp.enable('promptls')")
    editor = session.prompt("How is it rounded? @shop/money.py")
    editor.sees("of 8,000 tokens")
    first = server_pid(editor)
    os.kill(first, signal.SIGSTOP)
    editor.type("<CR>")
    editor.wait("a request is under way", lambda: editor.lua("return require('promptls.client').busy()"))
    os.kill(first, signal.SIGKILL)
    editor.wait("it is told", lambda: "The server ended before it had answered; ask again." in said(editor))
    for _ in range(2):
        known = editor.wait("a server runs", lambda: server_pid(editor))
        editor.wait("it has started", lambda: editor.lua(STARTED))
        os.kill(known, signal.SIGKILL)
        editor.wait("it has ended", lambda pid=known: server_pid(editor) != pid)
    editor.wait("it is left alone", lambda: "The server has died again (signal 9) and is left alone" in said(editor))
    expect(server_pid(editor) == 0, "no server runs")
    editor.command("Promptls restart")
    editor.wait("a restart starts it", lambda: server_pid(editor))
    attached(editor)
    editor.lua("vim.cmd.buffer('cart.py')")
    attached(editor)


@check("other servers' business is left alone in code: K, completion, tags, renaming, colours")
def leaves_code_alone(session: Session) -> None:
    session.write("till.c", "int till(void) { return 0; }\n")
    editor = session.code("till.c")
    options = "return { vim.bo.omnifunc, vim.bo.tagfunc, vim.fn.maparg('K', 'n') }"
    found = editor.lua(options)
    expect(found == ["ccomplete#Complete", "", ""], "options and K are as before", found)
    for method in ("hover", "completion", "definition", "rename", "codeAction", "codeLens", "documentSymbol"):
        asked = editor.lua("return #vim.lsp.get_clients({ bufnr = 0, method = ... })", f"textDocument/{method}")
        expect(asked == 0, f"{method} is not asked of the server in code")
    expect(editor.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 1, "but it sees the text")
    editor.type("grn")
    editor.sees("no matching language servers with rename capability")
    colours = "return vim.lsp.semantic_tokens.get_at_pos(0, 0, 0) == nil"
    expect(editor.lua(colours), "no semantic tokens are asked for")


@check("files outside of a workspace, large files and special buffers are not sent")
def leaves_out(session: Session) -> None:
    outside = session.folder / "elsewhere.py"
    outside.write_text("secret = 1\n")
    session.write("large.txt", "x" * 1_100_000)
    session.write("small.txt", "x\n")
    editor = session.code()
    count = "return #vim.lsp.get_clients({ bufnr = 0 })"
    for name in (str(outside), "large.txt"):
        editor.lua("vim.cmd.edit(...)", name)
        editor.lua("vim.cmd.edit('small.txt')")  # attached later, so that the other one would have been by now
        attached(editor)
        editor.lua("vim.cmd.buffer(...)", name)
        expect(editor.lua(count) == 0, f"{name} is not sent")
    editor.command("help")
    expect(editor.lua(count) == 0, "help is not sent")


@check("without the program one sentence says so, and what to do; once it is there, a restart finds it", alone=True)
def says_what_is_missing(session: Session) -> None:
    (session.programs / "promptls").unlink()
    session.env["PATH"] = f"{session.programs}:/usr/bin:/bin"
    editor = session.start("shop/cart.py")
    found = editor.wait("it is said", lambda: said(editor))
    expect(found.startswith("promptls: The program promptls was not found; see :help"), "in a sentence", found)
    editor.lua("vim.cmd.edit('shop/money.py')")
    expect(said(editor).count("was not found") == 1, "once")
    editor.lua("vim.g.promptls = { cmd = '/nowhere/promptls' }")
    editor.command("Promptls status")
    editor.sees("The option cmd names /nowhere/promptls, which cannot be run")
    editor.lua("vim.g.promptls = nil")
    session.program(session.programs / "promptls")
    editor.command("Promptls restart")
    attached(editor)
    editor.lua("vim.cmd.buffer('cart.py')")
    attached(editor)


@check("the workspace's own virtual environment is used only where the user allows it", alone=True)
def trusts_nobody(session: Session) -> None:
    mark = session.folder / "ran"
    session.program(session.workspace / ".venv" / "bin" / "promptls", before=f"touch '{mark}'\n")
    editor = session.code()
    expect(not mark.exists(), "it is not used by default")
    editor.close()
    session.init("vim.g.promptls = { trust_workspace_venv = 'ask' } vim.lsp.enable('promptls')")
    for answer, runs in (("i", False), ("a", True)):
        editor = session.start()
        editor.type(":edit shop/cart.py<CR>")
        editor.sees("is not trusted")
        editor.type(answer)
        ready(editor)
        expect(mark.exists() == runs, "the answer counts", answer)
        editor.close()
    mark.unlink()
    editor = session.start("shop/cart.py")
    ready(editor)
    expect(mark.exists(), "the answer is remembered")


@check("settings reach the server: the plugin's and the client's, trusted ones without complaint", alone=True)
def sets(session: Session) -> None:
    session.init("""
      vim.g.promptls = { settings = { budget = { tokens = 3000 }, languageModel = { endpoint = 'http://localhost:9/v1' } } }
      vim.lsp.config('promptls', { settings = { promptls = { sections = { instructions = false }, secrets = { allowFiles = true } } } })
      vim.lsp.enable('promptls')
    """)
    editor = session.code()
    editor.command("Promptls build How is it rounded? @#rounded")
    shown = preview(editor)
    expect("of 3,000 tokens" in shown, "the budget counts", shown)
    expect("# Instructions" not in shown, "and the section is off", shown)
    expect("a workspace cannot set it" not in said(editor), "nothing is refused", said(editor))
    editor.type("q")
    editor.lua("""
      local client = vim.lsp.get_clients({ name = 'promptls' })[1]
      client.settings = { promptls = { budget = { tokens = 4000 } } }
      client:notify('workspace/didChangeConfiguration', { settings = client.settings })
    """)
    editor.command("Promptls build How is it rounded? @#rounded")
    expect("of 4,000 tokens" in preview(editor), "a change while it runs counts, too")


@check("options that are wrong are told, and the defaults are used", alone=True)
def checks_options(session: Session) -> None:
    session.init(
        "vim.g.promptls = { trust = true, restarts = 'often', preview = { style = 'window' } } vim.lsp.enable('promptls')"
    )
    editor = session.start("shop/cart.py")
    found = editor.wait("they are told", lambda: said(editor))
    for wanted in (
        "There is no option 'trust'; the options are ask, cmd,",
        "The option restarts must be a number, not a string.",
        'The option preview.style must be one of "float", "split", "vsplit", "tab".',
    ):
        expect(wanted in found, f"{wanted!r} is told", found)
    ready(editor)


@check("a setting of the wrong type is told by the server, and stops nothing", alone=True)
def takes_wrong_settings(session: Session) -> None:
    session.init(
        "vim.g.promptls = { settings = { documents = { languages = 'markdown' } } } vim.lsp.enable('promptls')"
    )
    editor = session.start("shop/cart.py")
    editor.wait("it is told", lambda: "The setting documents.languages is ignored" in said(editor))
    ready(editor)
    editor.command("Promptls build How is it rounded? @#rounded")
    expect("def rounded" in preview(editor), "a build works")


@check("it works with --clean and the 'runtimepath' alone, and with setup()", alone=True)
def works_clean(session: Session) -> None:
    for on in (
        "vim.lsp.enable('promptls')",
        "require('promptls').setup({ settings = { budget = { tokens = 5000 } } })",
    ):
        editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}", "--cmd", f"lua {on}", "shop/cart.py")
        ready(editor)
        editor.command("Promptls build How is it rounded? @#rounded")
        expect(("of 5,000 tokens" in preview(editor)) == ("5000" in on), "a prompt is built")
        editor.close()


@check("a command works before any file is open and without vim.lsp.enable, which it then asks for", alone=True)
def works_late(session: Session) -> None:
    session.init("")
    editor = session.start()
    editor.command("Promptls build How is it rounded? @#rounded")
    preview(editor)
    ready(editor)
    editor.type("R")
    editor.wait("a prompt is built", lambda: "def rounded" in preview(editor))
    told = said(editor)
    expect("Edits that are not saved are not seen until" in told, "and it is said what is missing", told)


@check("a program of ours that answers for a language model is asked, where the user has one", alone=True)
def completes(session: Session) -> None:
    session.init("""
      vim.g.promptls = { settings = { languageModel = { use = 'editor' } } }
      require('promptls.config').set({ complete = function(messages, max_tokens, done)
        _G.asked = { #messages, max_tokens }
        vim.defer_fn(function() done('{"terms": ["rounding"]}') end, 1)
      end })
      vim.lsp.enable('promptls')
    """)
    editor = session.code()
    editor.command("Promptls build Wie wird gerundet?")
    expect("# Question" in preview(editor), "a prompt is built")
    asked = editor.lua("return _G.asked or false")
    expect(asked and asked[0] > 0 and asked[1] > 0, "the model was asked", asked)


@check("two workspaces have a server each, and a question goes to the one in front", alone=True)
def two_workspaces(session: Session) -> None:
    other = session.folder / "bakery"
    other.mkdir()
    (other / "oven.py").write_text("def bake(bread):\n    '''Until it is brown.'''\n")
    subprocess.run(["git", "init", "-q"], cwd=other, check=True, env=session.bare())
    editor = session.code()
    editor.lua("vim.cmd.edit(...)", str(other / "oven.py"))
    attached(editor)
    clients = "return #vim.lsp.get_clients({ name = 'promptls' })"
    editor.wait("there are two servers", lambda: editor.lua(clients) == 2)
    for buffer, symbol in (("oven.py", "bake"), ("cart.py", "rounded")):
        editor.lua("vim.cmd.buffer(...)", buffer)

        def built(editor: Nvim = editor, symbol: str = symbol) -> bool:
            editor.command(f"Promptls build What is @#{symbol}?")
            found = f"✓   @#{symbol}" in preview(editor)
            editor.type("q")
            editor.sees_no("╭ Prompt")
            return found

        editor.wait(f"{symbol} is found", built)


@check("leaving Neovim ends the server", alone=True)
def ends(session: Session) -> None:
    editor = session.code()
    server = server_pid(editor)
    editor.command("qall!")
    editor.process.wait(10)

    def gone() -> bool:
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return True
        return False

    editor.wait("the server has ended", gone)
