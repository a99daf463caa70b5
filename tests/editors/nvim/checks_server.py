"""Checks of the server's life cycle: command resolution, settings, cancellation, restart, crashes, code buffers."""

from __future__ import annotations

import os
import signal
import subprocess

from nvim import Nvim
from suite import (
    PLUGIN,
    Session,
    check,
    expect,
    messages,
    server_pid,
    wait_attached,
    wait_completion,
    wait_page,
    wait_ready,
)

from chatserver import ChatServer, say

IS_INITIALIZED = (
    "local client = vim.lsp.get_clients({ name = 'promptls' })[1] return client ~= nil and client.initialized"
)


@check("a cancelled build opens no page, and the next build works")
def builds_are_cancelled(session: Session) -> None:
    editor = session.open_prompt("How is it rounded? @shop/money.py")
    editor.wait_text("of 8,000 tokens")
    editor.lua("vim.lsp.log.set_level('debug')")
    server = server_pid(editor)
    os.kill(server, signal.SIGSTOP)  # keeps the request pending
    try:
        # Earlier requests ensure that the build is still queued when the cancellation arrives.
        editor.lua("""
          for _ = 1, 20 do
            require('promptls').build('How is the discount made?', {}, function() end, function() end)
          end
        """)
        editor.type("<CR>")
        pending_count = """
          local count = 0
          for _, request in pairs(vim.lsp.get_clients({ name = 'promptls' })[1].requests) do
            count = count + (vim.startswith(request.method, 'promptls/') and 1 or 0)
          end
          return count
        """
        editor.wait("the requests are pending", lambda: editor.lua(pending_count) == 21)
        editor.command("Promptls cancel")
        editor.wait_text("Cancelled.")
    finally:
        os.kill(server, signal.SIGCONT)
    editor.wait("the server has responded", lambda: editor.lua(pending_count) == 0)
    lsp_log = "return table.concat(vim.fn.readfile(vim.lsp.log.get_filename()), '\\n')"
    editor.wait("the response has the error code RequestCancelled", lambda: "code = -32800" in editor.lua(lsp_log))
    editor.lua("vim.lsp.log.set_level('warn')")
    expect("╭ Prompt" not in editor.screen.text(), "no page is open")
    editor.type("<CR>")
    expect("# Question" in wait_page(editor), "the next build works")


@check("a new build of a document cancels its pending build")
def new_build_cancels_the_pending_one(session: Session) -> None:
    editor = session.open_prompt("How is it rounded? @shop/money.py")
    editor.wait_text("of 8,000 tokens")
    server = server_pid(editor)
    os.kill(server, signal.SIGSTOP)
    try:
        editor.type("<CR>")
        is_busy = "return require('promptls.client').busy()"
        editor.wait("the first build is pending", lambda: editor.lua(is_busy))
        editor.type("<CR>")
        editor.wait_text("Cancelled.")
    finally:
        os.kill(server, signal.SIGCONT)
    wait_page(editor)
    expect(not editor.lua(is_busy), "no request is pending")


@check("a restarted server has the same buffers and their unsaved edits")
def restart_keeps_buffers(session: Session) -> None:
    editor = session.open_prompt("How much is it? @shop/cart.py")
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('cart.py'), 0, 0, false, { '# not saved' })")
    editor.type("<CR>")
    wait_page(editor)
    old_pid = server_pid(editor)
    editor.command("Promptls restart")
    editor.wait("a new server runs", lambda: server_pid(editor) not in (0, old_pid))
    wait_ready(editor)
    editor.type("R")
    editor.wait_text("The server was restarted. Build the prompt or run the command again.")
    editor.type("q")
    wait_attached(editor)
    editor.type("<CR>")
    expect("# not saved" in wait_page(editor), "the prompt contains the unsaved edit")
    editor.type("q")
    editor.wait_text_gone("╭ Prompt")
    editor.type("GA @#round")
    expect(wait_completion(editor, "@#round")[0] == "@#rounded", "mentions are completed")


@check("a crashed server is restarted with a warning, and the next build works", isolated=True)
def crashed_server_is_restarted(session: Session) -> None:
    editor = session.open_prompt("How is it rounded? @shop/money.py")
    editor.wait_text("of 8,000 tokens")
    old_pid = server_pid(editor)
    os.kill(old_pid, signal.SIGKILL)
    editor.wait("a new server runs", lambda: server_pid(editor) not in (0, old_pid))
    warning = "The server crashed (signal 9) and was restarted."
    editor.wait("a warning is shown", lambda: warning in messages(editor))
    wait_ready(editor)
    wait_attached(editor)
    editor.type("<CR>")
    expect("def rounded" in wait_page(editor), "a build works")


@check("the server provides no language features in code buffers")
def code_buffers_are_only_synchronized(session: Session) -> None:
    session.write_file("till.c", "int till(void) { return 0; }\n")
    editor = session.open_code("till.c")
    options = "return { vim.bo.omnifunc, vim.bo.tagfunc, vim.fn.maparg('K', 'n') }"
    values = editor.lua(options)
    expect(values == ["ccomplete#Complete", "", ""], "options and K are unchanged", values)
    for method in ("hover", "completion", "definition", "rename", "codeAction", "codeLens", "documentSymbol"):
        count = editor.lua("return #vim.lsp.get_clients({ bufnr = 0, method = ... })", f"textDocument/{method}")
        expect(count == 0, f"{method} is disabled in code")
    expect(editor.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 1, "the text is synchronized")
    editor.type("grn")
    editor.wait_text("no matching language servers with rename capability")
    no_tokens = "return vim.lsp.semantic_tokens.get_at_pos(0, 0, 0) == nil"
    expect(editor.lua(no_tokens), "no semantic tokens are requested")


@check("files outside a workspace, large files and special buffers are not sent")
def excluded_buffers_are_not_sent(session: Session) -> None:
    outside = session.folder / "elsewhere.py"
    outside.write_text("secret = 1\n")
    session.write_file("large.txt", "x" * 1_100_000)
    session.write_file("small.txt", "x\n")
    editor = session.open_code()
    client_count = "return #vim.lsp.get_clients({ bufnr = 0 })"
    for name in (str(outside), "large.txt"):
        editor.lua("vim.cmd.edit(...)", name)
        editor.lua("vim.cmd.edit('small.txt')")  # attached after the excluded file would have been
        wait_attached(editor)
        editor.lua("vim.cmd.buffer(...)", name)
        expect(editor.lua(client_count) == 0, f"{name} is not sent")
    editor.command("help")
    expect(editor.lua(client_count) == 0, "a help buffer is not sent")


@check("a missing executable is reported once, and a restart finds it once installed", isolated=True)
def missing_executable_is_reported(session: Session) -> None:
    (session.programs / "promptls").unlink()
    session.env["PATH"] = f"{session.programs}:/usr/bin:/bin"
    editor = session.start("shop/cart.py")
    text = editor.wait("an error is shown", lambda: messages(editor))
    expect(text.startswith('promptls: Server not found: run "uv tool install"'), "the error says what to run", text)
    editor.lua("vim.cmd.edit('shop/money.py')")
    expect(messages(editor).count("not found") == 1, "the error is shown once")
    editor.lua("vim.g.promptls = { cmd = '/nowhere/promptls' }")
    editor.command("Promptls status")
    editor.wait_text("Option cmd: /nowhere/promptls is not executable.")
    editor.lua("vim.g.promptls = nil")
    session.write_server_script(session.programs / "promptls")
    editor.command("Promptls restart")
    wait_attached(editor)
    editor.lua("vim.cmd.buffer('cart.py')")
    wait_attached(editor)


@check(
    "a server in ~/.local/bin is found without the PATH, and an activated environment of the workspace needs trust",
    isolated=True,
)
def folders_of_tools_are_searched(session: Session) -> None:
    (session.programs / "promptls").unlink()
    marker, venv = session.folder / "ran", session.workspace / "env"
    session.write_server_script(venv / "bin" / "promptls", preamble=f"touch '{marker}'\n")
    session.env |= {"PATH": f"{venv}/bin:env/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(venv)}
    editor = session.start("shop/cart.py")
    editor.wait("the untrusted server is reported", lambda: f"{venv}, set trust_workspace_venv" in messages(editor))
    session.write_server_script(session.home / ".local" / "bin" / "promptls")
    editor.command("Promptls restart")
    wait_attached(editor)
    wait_ready(editor)
    editor.close()
    expect(not marker.exists(), "the server of the workspace did not run")
    session.write_init("vim.g.promptls = { trust_workspace_venv = true } vim.lsp.enable('promptls')")
    editor = session.start("shop/cart.py")
    wait_ready(editor)
    expect(marker.exists(), "a trusted environment is used")


@check("a mention typed while the server starts is completed when it is ready", isolated=True)
def slow_start_is_shown(session: Session) -> None:
    gate = session.folder / "gate"
    os.mkfifo(gate)
    session.write_server_script(session.programs / "promptls", preamble=f"read line < '{gate}'\n")
    session.write_init("""
      vim.lsp.enable('promptls')
      vim.o.statusline = "%f %{v:lua.require'promptls'.statusline()}"
    """)
    editor = session.start("shop/cart.py")
    editor.wait_text("shop/cart.py promptls starting")
    editor.command("Promptls ask")
    editor.wait_text("╭ Ask · starting ─")
    editor.type("Why @shop/ca")
    editor.wait_text("Why @shop/ca")
    gate.write_text("go\n")
    expect(wait_completion(editor, "@shop/ca") == ["@shop/cart.py"], "the file is completed")
    editor.type("<C-n><C-y>")
    wait_ready(editor)
    editor.wait_text("╭ Ask ─")


@check("the workspace's virtual environment is used only if the user trusts it", isolated=True)
def virtual_environment_requires_trust(session: Session) -> None:
    marker = session.folder / "ran"
    session.write_server_script(session.workspace / ".venv" / "bin" / "promptls", preamble=f"touch '{marker}'\n")
    editor = session.open_code()
    expect(not marker.exists(), "the virtual environment is not used by default")
    editor.close()
    session.write_init("vim.g.promptls = { trust_workspace_venv = 'ask' } vim.lsp.enable('promptls')")
    for answer, runs in (("i", False), ("a", True)):
        editor = session.start()
        editor.type(":edit shop/cart.py<CR>")
        editor.wait_text("is not trusted")
        editor.type(answer)
        wait_ready(editor)
        expect(marker.exists() == runs, "the answer is respected", answer)
        editor.close()
    marker.unlink()
    editor = session.start("shop/cart.py")
    wait_ready(editor)
    expect(marker.exists(), "the answer is stored")


@check("settings of the plugin and of the client configuration reach the server", isolated=True)
def settings_reach_the_server(session: Session) -> None:
    session.write_init("""
      vim.g.promptls = { settings = { budget = { tokens = 3000 }, languageModel = { endpoint = 'http://localhost:9/v1' } } }
      vim.lsp.config('promptls', { settings = { promptls = { sections = { instructions = false }, secrets = { allowFiles = true } } } })
      vim.lsp.enable('promptls')
    """)
    editor = session.open_code()
    editor.command("Promptls build How is it rounded? @#rounded")
    text = wait_page(editor)
    expect("of 3,000 tokens" in text, "the budget is used", text)
    expect("# Instructions" not in text, "the section is disabled", text)
    expect("a workspace cannot set it" not in messages(editor), "no setting is rejected", messages(editor))
    editor.type("q")
    editor.lua("""
      local client = vim.lsp.get_clients({ name = 'promptls' })[1]
      client.settings = { promptls = { budget = { tokens = 4000 } } }
      client:notify('workspace/didChangeConfiguration', { settings = client.settings })
    """)
    editor.command("Promptls build How is it rounded? @#rounded")
    expect("of 4,000 tokens" in wait_page(editor), "changed settings are used")


@check("invalid options are reported and replaced by their defaults", isolated=True)
def invalid_options_are_reported(session: Session) -> None:
    session.write_init(
        "vim.g.promptls = { trust = true, restarts = 'often', preview = { style = 'window' } } vim.lsp.enable('promptls')"
    )
    editor = session.start("shop/cart.py")
    text = editor.wait("warnings are shown", lambda: messages(editor))
    for warning in (
        "Unknown option 'trust'. Valid options: ask, cmd,",
        "Option restarts must be a number, not a string.",
        'Option preview.style must be one of "float", "split", "vsplit", "tab".',
    ):
        expect(warning in text, f"{warning!r} is shown", text)
    wait_ready(editor)


@check("the plugin works with --clean, by vim.lsp.enable and by setup()", isolated=True)
def works_without_user_configuration(session: Session) -> None:
    for init in (
        "vim.lsp.enable('promptls')",
        "require('promptls').setup({ settings = { budget = { tokens = 5000 } } })",
    ):
        editor = session.start("--clean", "--cmd", f"set rtp^={PLUGIN}", "--cmd", f"lua {init}", "shop/cart.py")
        wait_ready(editor)
        editor.command("Promptls build How is it rounded? @#rounded")
        expect(("of 5,000 tokens" in wait_page(editor)) == ("5000" in init), "a prompt is built")
        editor.close()


@check("commands work without an open file and recommend vim.lsp.enable if it is missing", isolated=True)
def works_without_enable(session: Session) -> None:
    session.write_init("")
    editor = session.start()
    editor.command("Promptls build How is it rounded? @#rounded")
    wait_page(editor)
    wait_ready(editor)
    editor.type("R")
    editor.wait("a prompt is built", lambda: "def rounded" in wait_page(editor))
    text = messages(editor)
    expect("Unsaved edits are not used. Add vim.lsp.enable('promptls')" in text, "a warning is shown", text)


@check("the server uses the language model of the option complete", isolated=True)
def language_model_of_the_editor_is_used(session: Session) -> None:
    session.write_init("""
      vim.g.promptls = { settings = { languageModel = { use = 'editor' } } }
      require('promptls.config').set({ complete = function(messages, max_tokens, done)
        _G.completion_request = { #messages, max_tokens }
        vim.defer_fn(function() done('{"regions": [1], "queries": []}') end, 1)
      end })
      vim.lsp.enable('promptls')
    """)
    editor = session.open_code()
    editor.command("Promptls build How is money rounded?")
    expect("# Question" in wait_page(editor), "a prompt is built")
    request = editor.lua("return _G.completion_request or false")
    expect(request and request[0] > 0 and request[1] > 0, "the model received a request", request)


@check("the answer of the language model is written below its question, and is history for the next one", isolated=True)
def answers_are_written_below(session: Session) -> None:
    with ChatServer([say("Half up, see `rounded`."), say("Because of the cents.")]) as model:
        session.write_init(f"""
          local model = {{ use = 'endpoint', endpoint = '{model.url}', model = 'test' }}
          vim.g.promptls = {{ settings = {{ languageModel = model, retrieval = {{ selection = 'ranker' }} }} }}
          vim.lsp.enable('promptls')
        """)
        editor = session.open_prompt("How is it rounded? @#rounded")
        editor.wait_text("Answer here")
        editor.lua("vim.schedule(vim.lsp.codelens.run)")
        number = editor.wait_text(": Answer here").strip().split(":")[0]
        editor.type(f"{number}<CR>")
        lines = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)"
        answer = ["", "<!-- answer: test at 127.0.0.1 -->", "Half up, see `rounded`.", "<!-- end of answer -->"]
        editor.wait("the answer is below the question", lambda: editor.lua(lines)[1:5] == answer)
        expect(editor.screen.text().count("of 8,000 tokens") == 1, "the lenses are shown once", editor.screen.text())
        editor.type("GoWhy?<Esc>ga")
        editor.wait("the second answer is below", lambda: "Because of the cents." in editor.lua(lines))
        expect("def rounded" in model.requests[0].body["messages"][-1]["content"], "the model receives the code")
        roles = [message["role"] for message in model.requests[1].body["messages"]]
        expect(roles[-3:] == ["user", "assistant", "user"], "the first answer is history", roles)


@check("each workspace has its own server, and a question uses that of the active file", isolated=True)
def workspaces_have_separate_servers(session: Session) -> None:
    other = session.folder / "bakery"
    other.mkdir()
    (other / "oven.py").write_text("def bake(bread):\n    '''Until it is brown.'''\n")
    subprocess.run(["git", "init", "-q"], cwd=other, check=True, env=session.base_env())
    editor = session.open_code()
    editor.lua("vim.cmd.edit(...)", str(other / "oven.py"))
    wait_attached(editor)
    client_count = "return #vim.lsp.get_clients({ name = 'promptls' })"
    editor.wait("two servers run", lambda: editor.lua(client_count) == 2)
    for buffer, symbol in (("oven.py", "bake"), ("cart.py", "rounded")):
        editor.lua("vim.cmd.buffer(...)", buffer)

        def mention_resolves(editor: Nvim = editor, symbol: str = symbol) -> bool:
            editor.command(f"Promptls build What is @#{symbol}?")
            resolved = f"✓ @#{symbol}" in wait_page(editor)
            editor.type("q")
            editor.wait_text_gone("╭ Prompt")
            return resolved

        editor.wait(f"{symbol} is resolved", mention_resolves)


@check("quitting Neovim stops the server", isolated=True)
def quitting_stops_the_server(session: Session) -> None:
    editor = session.open_code()
    server = server_pid(editor)
    editor.command("qall!")
    editor.process.wait(10)

    def has_exited() -> bool:
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return True
        return False

    editor.wait("the server has exited", has_exited)


@check("a crash fails the pending request, and repeated crashes stop automatic restarts", isolated=True)
def repeated_crashes_stop_restarts(session: Session) -> None:
    session.write_init("vim.g.promptls = { restarts = 2 } vim.lsp.enable('promptls')")
    editor = session.open_prompt("How is it rounded? @shop/money.py")
    editor.wait_text("of 8,000 tokens")
    first_pid = server_pid(editor)
    os.kill(first_pid, signal.SIGSTOP)
    editor.type("<CR>")
    editor.wait("a request is pending", lambda: editor.lua("return require('promptls.client').busy()"))
    os.kill(first_pid, signal.SIGKILL)
    error = "The server exited before it responded. Please try again."
    editor.wait("the pending request fails", lambda: error in messages(editor))
    for _ in range(2):
        pid = editor.wait("a server runs", lambda: server_pid(editor))
        editor.wait("the client is initialized", lambda: editor.lua(IS_INITIALIZED))
        os.kill(pid, signal.SIGKILL)
        editor.wait("the server has exited", lambda pid=pid: server_pid(editor) != pid)
    editor.wait("restarts stop", lambda: "The server crashed repeatedly (signal 9)" in messages(editor))
    expect(server_pid(editor) == 0, "no server runs")
    editor.command("Promptls restart")
    editor.wait(":Promptls restart starts a server", lambda: server_pid(editor))
    wait_attached(editor)
    editor.lua("vim.cmd.buffer('cart.py')")
    wait_attached(editor)
