"""`:Promptls`: asking, the preview and its keys, searching, pages, memory, recipes, and what the editor knows."""

from __future__ import annotations

from suite import Session, attached, check, expect, line, offered, preview, ready


@check("a selection is asked about: it goes into the prompt, also when lines are added above it")
def asks_about_a_selection(session: Session) -> None:
    editor = session.code()
    editor.type("/def total<CR>Vjjj:Promptls ask<CR>")
    editor.sees("╭ Ask")
    editor.wait("the mention is there", lambda: line(editor).startswith("@selection"))
    attached(editor)
    editor.type("is this right?")
    editor.lua("local b = vim.fn.bufnr('cart.py') vim.api.nvim_buf_set_lines(b, 0, 0, false, { '# one', '# two' })")
    editor.type("<C-s>")
    shown = preview(editor)
    expect("shop/cart.py:21-24" in shown, "the lines are the selected ones where they are now", shown)
    expect("selection" in shown and "✓   @selection" in shown, "and they are told as the selection", shown)
    editor.sees_no("╭ Ask")


@check("lines are asked about by a range, and Visual mode is what @selection means")
def knows_the_selection(session: Session) -> None:
    editor = session.code()
    editor.command("26,29Promptls ask why?")
    editor.sees("╭ Ask")
    attached(editor)
    editor.type("<Esc><CR>")
    expect(
        "shop/cart.py:25-29" in preview(editor) or "shop/cart.py:26-29" in preview(editor), "the range is the selection"
    )
    editor.type("q")
    editor.sees_no("╭ Prompt")
    editor.type("3GVj<Esc>")
    editor.command("Promptls build what is @selection")
    preview(editor)

    def brought() -> bool:  # what was told a moment ago may be used once more
        editor.type("R")
        return "shop/cart.py:3-4" in preview(editor)

    editor.wait("what was selected last is brought when it is mentioned", brought)


@check("the preview shows tokens, sections, what is in and what is left out, and its keys work")
def previews(session: Session) -> None:
    editor = session.prompt("How is the discount made? @shop/cart.py @#Money.times @dist/x.js")
    editor.type("<CR>")
    shown = preview(editor)
    for what in ("of 8,000 tokens (", "■ context", "□ free", "In the prompt:", "✓   @shop/cart.py", "✗   @dist/x.js"):
        expect(what in shown, f"{what!r} is shown", shown)
    text = editor.lua("return require('promptls.preview').current().rendered.text")
    expect(shown.endswith(text), "the prompt is shown whole")
    editor.type("y")
    editor.wait("the prompt is yanked", lambda: editor.lua("return vim.fn.getreg('\"')") == text)
    # Folds: a quoted file closes and opens.
    row = "/^<lt>context-.*cart.py<CR>"
    editor.type(row + "<Tab>")
    closed = "return vim.fn.foldclosed('.') > 0"
    editor.wait("the quoted file is folded", lambda: editor.lua(closed))
    editor.type("<Tab>")
    editor.wait("and opened again", lambda: not editor.lua(closed))
    # From a line of a quoted file to that line; from an item to its first line.
    editor.type("/def apply_discount<CR><CR>")
    place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    editor.wait("the line is found", lambda: editor.lua(place) == ["cart.py", 25])
    editor.command("buffer question")
    editor.type("<CR>")
    preview(editor)
    editor.type("gg/P2 .*Money<CR><CR>")
    editor.wait("the item is found", lambda: editor.lua(place)[0] == "money.py")
    # As a buffer, and back to the question.
    editor.command("buffer question")
    editor.type("<CR>")
    preview(editor)
    editor.type("o")
    whole = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
    editor.wait("it is a buffer", lambda: editor.lua(whole) == text and editor.lua("return vim.bo.modifiable"))
    editor.command("buffer question")
    editor.type("<CR>")
    preview(editor)
    editor.type("e")
    editor.wait("back at the question", lambda: line(editor).startswith("How is the discount made?"))
    editor.type("A @docs/<Esc><CR>")
    expect("@docs/" in preview(editor), "the question is built as it is now")
    editor.type("q")
    editor.sees_no("╭ Prompt")


@check("a question is edited after its preview, in the window in which it was asked")
def edits_the_question(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls ask budget=3000 How is it rounded?")
    editor.sees("╭ Ask")
    attached(editor)
    editor.type("<C-s>")
    expect("of 3,000 tokens" in preview(editor), "the budget of the command counts")
    editor.type("e")
    editor.sees("╭ Ask")
    editor.type("A @#rounded<Esc><CR>")
    shown = preview(editor)
    expect("✓   @#rounded" in shown and "of 3,000 tokens" in shown, "it is built again with the same budget", shown)


@check("a prompt is sent to a terminal as pasted text, and to a consumer of the user's own")
def sends(session: Session) -> None:
    editor = session.code()
    editor.command("terminal cat")
    editor.type("<C-\\><C-n>")
    editor.lua("vim.cmd.buffer('cart.py')")
    editor.command("Promptls build How is it rounded? @#rounded")
    preview(editor)
    editor.type("s")
    editor.lua("vim.cmd.buffer('cat')")
    editor.wait("the terminal has it", lambda: "How is it rounded?" in editor.screen.text())
    editor.command("bwipeout!")
    editor.lua("""
      require('promptls').register('mine', {
        title = 'mine',
        send = function(prompt, result, question) _G.sent = { prompt, result.tokens.used, question } end,
      })
    """)
    editor.command("Promptls build How is it rounded? @#rounded")
    preview(editor)
    editor.type("s")
    prompt, used, question = editor.wait("it is sent", lambda: editor.lua("return _G.sent"))
    expect("def rounded" in prompt and used > 0, "with the prompt")
    expect(question == "How is it rounded? @#rounded", "and the question", question)
    editor.lua("require('promptls.consumers').unregister('mine')")


@check("search fills the quickfix list, or lets one choose")
def searches(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls search where are articles reserved")
    editor.sees("[Quickfix List] promptls: where are articles reserved")
    expect("reserve" in editor.sees("shop/stock.py|11-16"), "the definition is found")
    editor.type("gg<CR>")
    place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    editor.wait("the entry leads there", lambda: editor.lua(place) == ["stock.py", 11])
    editor.command("cclose")
    editor.command("Promptls! search limit=2 path=shop/** money is rounded")
    editor.sees("2: ")
    expect("3: " not in editor.screen.text(), "the limit counts")
    expect("shop/money.py" in editor.sees("1: "), "and the folder")
    editor.type("1<CR>")
    editor.wait("the choice leads there", lambda: editor.lua(place)[0] == "money.py")
    editor.command("Promptls search limit=0 x")
    editor.sees("limit: must be between 1 and 1000.")


@check("explain tells of the definition under the cursor, of a name, and of what is not there")
def explains(session: Session) -> None:
    editor = session.code()
    editor.type("/return apply_discount<CR>w")
    editor.command("Promptls explain")
    editor.sees("# apply_discount (function)")
    editor.type("/test_cart.py<CR><CR>")
    place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    editor.wait("a line of the page leads to its file", lambda: editor.lua(place) == ["test_cart.py", 7])
    editor.command("Promptls explain Money.times")
    editor.sees("# Money.times (method)")
    editor.type("q")
    editor.sees_no("# Money.times")
    editor.command("Promptls explain Monney")
    editor.sees("Nothing in the workspace is called Monney")


@check("graph shows what a question is about, and call paths")
def graphs(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls graph discount")
    editor.sees("apply_discount (function)")
    editor.type("q")
    editor.command("Promptls graph from=Cart.total to=rounded")
    editor.sees("## Call Paths")
    editor.sees("→ apply_discount")


@check("memory: something is remembered, found, brought into prompts, and forgotten")
def remembers(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls memory add Discounts are decided by Ms Weber.")
    editor.sees("1: knowledge")
    editor.type("1<CR>")
    editor.sees("1: for you, everywhere")
    editor.type("1<CR>")
    editor.sees("Remembered: Discounts are decided by Ms Weber")
    editor.command("Promptls build Who decides about discounts?")
    expect("Ms Weber" in preview(editor), "it is in the prompt")
    editor.type("q")
    editor.command("Promptls memory search discounts")
    editor.sees("╭ Memory: discounts")
    editor.sees("## Discounts are decided by Ms Weber")
    editor.type("/Ms Weber<CR>x")
    editor.sees("1: Forget it")
    editor.type("1<CR>")
    editor.sees_no("## Discounts are decided")
    editor.type("q")
    editor.command("Promptls memory")
    editor.sees("Nothing is remembered yet")


@check("a recipe is picked, and its task stands before the question")
def recipes(session: Session) -> None:
    editor = session.code()
    editor.type("/def apply<CR>V4j:Promptls recipes<CR>")
    number = editor.sees("review: ").strip().split(":")[0]
    editor.type(f"{number}<CR>")
    editor.sees("╭ Ask")
    attached(editor)
    editor.type("<C-s>")
    shown = preview(editor)
    expect("■ task" in shown, "the recipe's task is in the prompt", shown)
    expect("✓   @selection" in shown, "about the selection", shown)
    editor.type("q")
    editor.command("Promptls build recipe=review arg.focus=rounding @shop/money.py")
    expect("rounding" in preview(editor), "with its argument")


@check("status, mentions and why a file is not indexed")
def tells(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls status")
    editor.sees("# promptls: ")
    editor.type("q")
    editor.command("Promptls mentions")
    editor.sees("# Mentions")
    editor.type("q")
    editor.command("Promptls ignored")
    editor.sees("shop/cart.py is indexed")
    bar = "return require('promptls').statusline()"
    editor.wait("the statusline tells the state", lambda: editor.lua(bar).endswith(" files"))
    editor.command("Promptls search limit=0 x")  # something for the log
    editor.sees("limit: must be between 1 and 1000.")
    editor.command("Promptls log")
    editor.wait("the log is open", lambda: editor.lua("return vim.fn.expand('%:t')") == "promptls.log")


@check("a scratch prompt is a prompt document without a file")
def scratches(session: Session) -> None:
    editor = session.code()
    editor.command("Promptls scratch")
    attached(editor)
    editor.type("How is it rounded? @#round")
    offered(editor, "@#round")
    editor.type("<C-n><C-y><Esc><CR>")
    expect("✓   @#rounded" in preview(editor), "it is built")
    editor.type("q")
    editor.type(":write kept.prompt.md<CR>")
    editor.wait("it can be kept", lambda: (session.workspace / "kept.prompt.md").exists())


@check("the server asks for diagnostics, terminal, quickfix list and clipboard when they are mentioned")
def knows(session: Session) -> None:
    editor = session.code()
    editor.lua("""
      local linter = vim.api.nvim_create_namespace('linter')
      vim.diagnostic.set(linter, vim.fn.bufnr('cart.py'), {
        { lnum = 27, col = 15, end_lnum = 27, end_col = 22, message = 'rounds twice', severity = 2, source = 'linter', code = 'R7' },
      })
      vim.fn.setqflist({ { filename = 'shop/stock.py', lnum = 11, end_lnum = 16, text = 'here' } })
      vim.fn.setreg('"', 'what was copied before')
    """)
    editor.command("terminal printf 'price mismatch in order 77\\n'; exec cat")
    editor.wait("the terminal has printed", lambda: line(editor).startswith("price mismatch in order 77"))
    editor.type("<C-\\><C-n>")
    editor.lua("vim.cmd.buffer('cart.py')")
    editor.command("Promptls build Why? @problems @terminal @quickfix @clipboard")
    shown = preview(editor)
    for what in ("rounds twice", "price mismatch in order 77", "what was copied before"):
        expect(what in shown, f"{what!r} is in the prompt", shown)
    for mention in ("@problems", "@terminal", "@quickfix", "@clipboard"):
        expect(f"✓   {mention}" in shown, f"{mention} is included", shown)


@check("what is not mentioned is not sent: no clipboard, no terminal, no diagnostics")
def sends_little(session: Session) -> None:
    editor = session.code()
    editor.lua("""
      vim.fn.setreg('"', 'a password')
      local client = vim.lsp.get_clients({ name = 'promptls' })[1]
      local request = client.request
      client.request = function(self, method, params, ...)
        _G.params = method == 'promptls/buildPrompt' and vim.json.encode(params) or _G.params
        return request(self, method, params, ...)
      end
    """)
    editor.command("Promptls build How is it rounded?")
    preview(editor)
    params = editor.lua("return vim.json.decode(_G.params)")
    expect(sorted(params) == ["context", "message"], "message and context are sent", sorted(params))
    names = sorted(params["context"])
    expect(names == ["activeDocument", "openDocuments", "visibleDocuments"], "and no more", names)
    expect("password" not in editor.lua("return _G.params"), "the clipboard stays here")


@check("subcommands, options and mentions are completed on the command line")
def completes_commands(session: Session) -> None:
    editor = session.code()
    for typed, wanted in (
        (":Promptls sea<Tab>", ":Promptls search"),
        (":Promptls build recipe=rev<Tab>", ":Promptls build recipe=review"),
        (":Promptls ask why @shop/mon<Tab>", ":Promptls ask why @shop/money.py"),
        (":Promptls explain apply_d<Tab>", ":Promptls explain apply_discount"),
        (":Promptls graph fr<Tab>", ":Promptls graph from="),
        (":Promptls memory a<Tab>", ":Promptls memory add"),
    ):
        editor.type(typed)
        editor.sees(wanted)
        editor.type("<Esc>")


@check("a question that is gone is not built again, and nothing goes on for it")
def forgets_questions(session: Session) -> None:
    editor = session.code()
    followed = "return #vim.api.nvim_get_autocmds({ event = 'User', pattern = 'PromptlsStatus' })"
    timers = """
      local count = 0
      vim.uv.walk(function(handle) count = count + (handle:get_type() == 'timer' and 1 or 0) end)
      return count
    """
    before = editor.lua(timers)
    for unload in (True, False) * 3:
        editor.command("Promptls scratch")
        attached(editor)
        expect(editor.lua(followed) > 0, "the state of the index is followed")
        editor.lua("vim.cmd.stopinsert() vim.api.nvim_buf_delete(0, { force = true, unload = ... })", unload)
    editor.lua("vim.api.nvim_exec_autocmds('User', { pattern = 'PromptlsStatus' })")
    editor.wait("no timer is left for those that are gone", lambda: editor.lua(timers) - before < 3)
    expect(editor.lua(followed) == 3, "nothing follows it for those that are wiped out", editor.lua(followed))
    editor.command("Promptls ask How is it rounded? @#rounded")
    attached(editor)
    editor.type("<C-s>")
    preview(editor)
    editor.lua("""
      for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
        if vim.b[bufnr].promptls_ask then vim.api.nvim_buf_delete(bufnr, { force = true }) end
      end
    """)
    editor.type("R")
    editor.sees("The document of this question is not open any more")


@check("what is wrong is told in a sentence")
def tells_what_is_wrong(session: Session) -> None:
    editor = session.code()
    for command, wanted in (
        ("Promptls bild", "There is no subcommand 'bild'; there are ask, build,"),
        ("Promptls build budget=much x", "budget=much: it must be a number of tokens."),
        ("Promptls build variant=loose x", "unknown variant 'loose'; valid:"),
        ("Promptls memory forget", "memory: 'forget' is none of list, add, search."),
        ("Promptls copy", "This is no prompt document; :Promptls ask opens one."),
        ("Promptls cancel", "Nothing is under way."),
    ):
        editor.command(command)
        editor.sees(wanted)
        if editor.mode() != "n":
            editor.type("<CR>")
    session.prompt()
    editor.type("<CR>")
    editor.sees("message: must not be blank")


@check("the preview can be a split, with the user's own size of the other windows")
def splits(session: Session) -> None:
    editor = session.code()
    editor.lua("vim.g.promptls = { preview = { style = 'vsplit' } }")
    editor.command("Promptls build How is it rounded?")
    preview(editor)
    expect(editor.lua("return vim.api.nvim_win_get_config(0).relative") == "", "it is no float")
    editor.sees("Prompt")
    editor.type("q")
    editor.wait("one window is left", lambda: editor.lua("return #vim.api.nvim_list_wins()") == 1)
    editor.lua("vim.g.promptls = nil")
    ready(editor)
