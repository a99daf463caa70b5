"""Chats in the real chat plugins of $PROMPTLS_NVIM_PLUGINS, with a scripted model on loopback."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from nvim import CheckFailedError, Nvim
from suite import Session, SkippedError, check, expect, messages, wait_attached, wait_drawn, wait_page, wait_ready

from chatserver import Action, ChatServer, raw


def stream(**delta: Any) -> Action:
    """Answer with a stream of server-sent events that contains one delta."""
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    choices = [
        {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ]
    chunks = [
        {"id": "1", "object": "chat.completion.chunk", "model": "test", "choices": [choice]} for choice in choices
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return raw(body.encode(), "text/event-stream")


def call_tool(name: str, **arguments: Any) -> Action:
    """Answer with the call of a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return stream(content=None, tool_calls=[{"index": 0, "id": "call", "type": "function", "function": function}])


def start_chat(session: Session, setup: str, *plugins: str) -> Nvim:
    """Start Neovim with chat plugins, a file of the workspace and a complete index; skip the check without them."""
    folder = os.environ.get("PROMPTLS_NVIM_PLUGINS")
    if not folder:
        raise SkippedError("PROMPTLS_NVIM_PLUGINS is not set")
    missing = [plugin for plugin in plugins if not (Path(folder) / plugin).is_dir()]
    if missing:
        raise SkippedError(f"{', '.join(missing)} not found in {folder}")
    paths = "".join(f"vim.opt.rtp:append('{Path(folder).resolve() / plugin}')\n" for plugin in plugins)
    session.write_init(f"{paths}vim.opt.laststatus = 2\nvim.lsp.enable('promptls')\n{setup}")
    editor = session.start("shop/cart.py")
    wait_drawn(editor, "cart.py")
    wait_attached(editor)
    wait_ready(editor)
    return editor


def accept_symbol(editor: Nvim, question: str) -> None:
    """Type a question that ends with the start of a symbol, and complete the symbol."""
    editor.type(question + "@#rou")
    for _ in range(5):  # the completion gives up after a second, on a slow machine
        editor.type("<C-x><C-u>")
        with contextlib.suppress(CheckFailedError):
            editor.wait_text("~17 tok", 5)
            break
    editor.type("<C-y>")
    editor.wait_text("@#rounded")


def wait_request(editor: Nvim, server: ChatServer, count: int) -> dict[str, Any]:
    """Wait for the request with a number, from 1, and return its body."""
    editor.wait(f"request {count} has arrived", lambda: len(server.requests) >= count)
    return server.requests[count - 1].body


def texts(body: dict[str, Any], role: str) -> list[str]:
    """Return the contents of the messages of a role."""
    return [message["content"] for message in body["messages"] if message["role"] == role]


def wait_message(editor: Nvim, text: str) -> None:
    """Wait for a message of Neovim."""
    editor.wait(f"the message {text!r}", lambda: text in messages(editor))


CODECOMPANION = """
  require('codecompanion').setup({
    adapters = { http = { test = function()
      return require('codecompanion.adapters').extend('openai_compatible', {
        env = { url = '%s', api_key = 'none', chat_url = '/chat/completions' },
        schema = { model = { default = 'test', choices = { 'test' } } },
      })
    end } },
    interactions = { chat = { adapter = 'test' } },
    extensions = { promptls = { callback = 'promptls.adapters.codecompanion' } },
  })
"""


@check("a chat of codecompanion.nvim: completion, prompt, tool, second turn, prompt of a page", isolated=True)
def codecompanion_chat(session: Session) -> None:
    script = [
        stream(content="Half up."),
        call_tool("read_code", places=["shop/stock.py#reserve"]),
        stream(content="It reserves."),
        stream(content="Nowhere."),
        stream(content="In the cart."),
    ]
    with ChatServer(script) as server:
        editor = start_chat(session, CODECOMPANION % server.url, "plenary.nvim", "codecompanion.nvim")
        editor.command("CodeCompanionChat")
        editor.wait_text("Welcome to CodeCompanion")
        accept_symbol(editor, "iHow is it rounded? ")
        editor.type("<C-s>")
        first = wait_request(editor, server, 1)
        editor.wait_text("Half up.")
        (prompt,) = texts(first, "user")
        expect("def rounded(money)" in prompt, "the prompt has the code", prompt)
        expect(prompt.endswith("# Question\nHow is it rounded? @#rounded"), "and the question", prompt)
        expect("def rounded" not in editor.lua(CHAT_TEXT), "the chat shows the question only")

        editor.type("<Esc>GA@{promptls} What is in #{buffer}? @#nowhere @shop/cart.py:1-4<C-s>")
        answered = wait_request(editor, server, 3)
        editor.wait_text("It reserves.")
        called = server.requests[1].body
        names = {tool["function"]["name"] for tool in called["tools"]}
        expect(names == {"search_code", "read_code", "explain_symbol", "get_context"}, "the model has the tools", names)
        *earlier, attached, last = texts(called, "user")
        expect(earlier == [prompt], "the first prompt is kept", earlier)
        expect("<attachment" in attached, "codecompanion adds its own context", attached)
        expect("from shop.stock import reserve" in last, "a second message becomes a prompt, too", last)
        expect("@{promptls}" not in last, "its tools are not in the question", last)
        wait_message(editor, "Not in the prompt: @#nowhere.")
        (read,) = texts(answered, "tool")
        expect("def reserve(article" in read, "the model receives the result of the tool", read)
        editor.wait_text("Read code: shop/stock.py#reserve")

        editor.type("<Esc>GAMail a@example.org<C-s>")
        unchanged = texts(wait_request(editor, server, 4), "user")[-1].strip()
        editor.wait_text("Nowhere.")
        expect(unchanged == "Mail a@example.org", "a message without mentions is unchanged", unchanged)

        editor.command("CodeCompanionChat Toggle")
        editor.command("Promptls build Who rounds? @callers:rounded")
        wait_page(editor)
        editor.type("s")
        editor.wait_text("promptls</prompt>")
        editor.type("<Esc><C-s>")
        sent = texts(wait_request(editor, server, 5), "user")
        editor.wait_text("In the cart.")
        expect(len(sent) == 2 and "apply_discount" in sent[0], "the prompt of the page is sent", sent)
        expect(sent[1].strip() == "Who rounds? @callers:rounded", "and the question after it", sent)


CHAT_TEXT = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"

AVANTE = """
  -- The templates of the system prompt need a library that is built with cargo.
  if not pcall(require, 'avante_templates') then
    package.loaded.avante_templates = {
      initialize = function() end,
      render = function(path) return path end,
    }
  end
  require('avante').setup({
    provider = 'test',
    mode = 'legacy',
    providers = { test = { __inherited_from = 'openai', endpoint = '%s', model = 'test', api_key_name = '' } },
    behaviour = { auto_set_keymaps = false, auto_suggestions = false },
    slash_commands = { require('promptls.adapters.avante').slash_command() },
  })
"""


@check("a chat of avante.nvim: completion, slash command, second turn, prompt of a page", isolated=True)
def avante_chat(session: Session) -> None:
    script = [stream(content="Half up."), stream(content="The cart."), stream(content="Nothing else.")]
    with ChatServer(script) as server:
        editor = start_chat(session, AVANTE % server.url, "plenary.nvim", "nui.nvim", "avante.nvim")
        editor.command("AvanteAsk")
        editor.wait_text("submit")
        # In a text that is typed, avante replaces #debug by an instruction and adds its own context for @codebase.
        accept_symbol(editor, "<Esc>i/promptls How does #debug round? @codebase @#nowhere ")
        editor.type("<Esc><CR>")
        first = wait_request(editor, server, 1)
        editor.wait_text("Half up.")
        prompt = texts(first, "user")[-1]
        expect("def rounded(money)" in prompt, "the prompt has the code", prompt)
        question = "How does #debug round? @codebase @#nowhere @#rounded"
        expect(prompt.endswith(f"# Question\n{question}"), "the prompt is sent unchanged", prompt)
        expect("_project.avanterules" not in texts(first, "user"), "without other context", first["messages"])
        shown = editor.screen.text()
        expect("#debug round?" in shown and "def rounded" not in shown, "the sidebar shows the question", shown)
        wait_message(editor, "Not in the prompt: @#nowhere.")

        editor.command("AvanteFocus")
        editor.wait("the code has the focus", lambda: editor.lua("return vim.bo.filetype") == "python")
        editor.command("AvanteFocus")
        editor.wait("the input has the focus", lambda: editor.lua("return vim.bo.filetype") == "AvanteInput")
        editor.type("<Esc>i/promptls Who rounds? @callers:rounded<Esc><CR>")
        second = texts(wait_request(editor, server, 2), "user")
        editor.wait_text("The cart.")
        expect(prompt in second and "apply_discount" in second[-1], "the second prompt follows the first", second)

        editor.command("AvanteFocus")
        editor.command("Promptls build What is reserved? @shop/stock.py")
        wait_page(editor)
        editor.type("s")
        sent = texts(wait_request(editor, server, 3), "user")[-1]
        editor.wait_text("Nothing else.")
        expect("def reserve(article" in sent, "the prompt of the page is sent", sent)


COPILOTCHAT = """
  local provider = require('CopilotChat.config.providers').copilot
  require('CopilotChat').setup({
    model = 'test',
    providers = { copilot = { disabled = true }, github_models = { disabled = true }, test = {
      get_models = function() return { { id = 'test', name = 'Test', streaming = true, tools = true } } end,
      get_url = function() return '%s/chat/completions' end,
      prepare_input = provider.prepare_input,
      prepare_output = provider.prepare_output,
    } },
    functions = require('promptls.adapters.copilotchat').functions(),
  })
"""


@check("a chat of CopilotChat.nvim: function, second turn", isolated=True)
def copilotchat_chat(session: Session) -> None:
    with ChatServer([stream(content="Half up."), stream(content="The cart.")]) as server:
        editor = start_chat(session, COPILOTCHAT % server.url, "plenary.nvim", "CopilotChat.nvim")
        editor.command("CopilotChat")
        editor.wait("the chat is open", lambda: editor.lua("return vim.bo.filetype") == "copilot-chat")
        completefunc = editor.lua("return vim.bo.completefunc")
        expect("promptls" in completefunc, "mentions are completed", completefunc)
        editor.type("GA#promptls:`How is it rounded? @#nowhere @#rounded`<C-s>")
        first = wait_request(editor, server, 1)
        editor.wait_text("Half up.")
        sent = "\n".join(texts(first, "user"))
        expect("def rounded(money)" in sent, "the prompt has the code", sent)
        wait_message(editor, "Not in the prompt: @#nowhere.")
        editor.type("<Esc>GA And who calls it? #promptls:`@callers:rounded`<C-s>")
        second = "\n".join(texts(wait_request(editor, server, 2), "user"))
        editor.wait_text("The cart.")
        expect("apply_discount" in second, "a second prompt is sent", second)
