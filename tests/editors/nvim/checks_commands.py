"""Checks of `:Promptls`: questions, search, pages, memory, recipes, client context and completion."""

from __future__ import annotations

import itertools
from pathlib import Path

from nvim import Nvim
from suite import (
    Session,
    check,
    current_line,
    expect,
    messages,
    wait_attached,
    wait_completion,
    wait_page,
)


@check("the ask key asks about the selected lines, which follow edits above them")
def selection_is_in_the_prompt(session: Session) -> None:
    editor = session.open_code()
    editor.lua("vim.keymap.set({ 'n', 'x' }, '<Leader>pa', '<Plug>(promptls-ask)')")
    editor.type("/def total<CR>Vjjj\\pa")
    editor.wait_text("╭ Ask")
    editor.wait("the mention is inserted", lambda: current_line(editor).startswith("@selection"))
    wait_attached(editor)
    editor.type("is this right?")
    expect("@selection " in editor.wait_text(" tokens is this right?"), "the cost of the selection is shown")
    editor.lua("local b = vim.fn.bufnr('cart.py') vim.api.nvim_buf_set_lines(b, 0, 0, false, { '# one', '# two' })")
    editor.type("<C-s>")
    text = wait_page(editor)
    expect("shop/cart.py:21-24" in text, "the lines have their current numbers", text)
    expect("selection" in text and "✓ @selection" in text, "the lines are included as the selection", text)
    editor.wait_text_gone("╭ Ask")
    editor.type("qgv")
    selected = "return { vim.fn.mode(), vim.fn.line('v'), vim.fn.line('.') }"
    editor.wait("the lines can be selected again", lambda: editor.lua(selected) == ["V", 21, 24])


POSITION = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
LINES = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)"
REGISTER = "return vim.fn.getreg('\"')"


@check("the page of a prompt shows its figures and text, and its keys copy, fold, go to places and edit")
def page_shows_the_prompt(session: Session) -> None:
    editor = session.open_prompt("How is the discount made? @shop/cart.py @#Money.times @dist/x.js")
    editor.type("<CR>")
    page = wait_page(editor)
    for part in ("of 8,000 tokens (", "█ context", "░ free", "## In the prompt:", "✓ @shop/cart.py", "✗ @dist/x.js"):
        expect(part in page, f"the page contains {part!r}", page)
    expect(not editor.lua("return vim.bo.modifiable"), "the page is read-only")
    editor.lua("vim.fn.setreg('\"', '')")
    editor.type("y")
    text = editor.wait("the prompt is yanked", lambda: editor.lua(REGISTER))
    expect(text.startswith("Answer the question") and text in page, "the whole prompt is yanked and shown", text)
    # Sections and quoted files are folds; <Tab> and <CR> toggle them.
    is_closed = "return vim.fn.foldclosed('.') > 0"
    expect("lines" in editor.wait_text("## Left out: "), "the omitted items are hidden at first")
    for line in ("## Left out", "## In the prompt", "<lt>context-.*cart.py"):
        editor.type(f"gg/^{line}<CR><Tab>")  # the search opens the fold
        editor.wait(f"the fold of {line} is closed", lambda: editor.lua(is_closed))
        editor.type("<CR>")
        editor.wait(f"the fold of {line} is open", lambda: not editor.lua(is_closed))
    editor.type("gg/^def apply_discount<CR>")
    syntax = "return vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), 1, 1), 'name')"
    editor.wait("quoted code is highlighted in its language", lambda: editor.lua(syntax) == "pythonStatement")
    # <CR> goes to the place of an item.
    editor.type("gg/Money.times .*pin<CR><CR>")
    editor.wait("the item is open", lambda: editor.lua(POSITION) == ["money.py", 12])
    # "o" opens a buffer, "e" returns to the question.
    editor.command("buffer question")
    editor.type("<CR>")
    wait_page(editor)
    editor.type("o")
    is_modifiable = "return vim.bo.modifiable"
    editor.wait("the prompt is in a buffer", lambda: editor.lua(is_modifiable) and "# Context" in editor.lua(LINES))
    expect("## Text" not in editor.lua(LINES), "the buffer has only the prompt")
    editor.command("buffer question")
    editor.type("<CR>")
    wait_page(editor)
    editor.type("e")
    editor.wait("the question is open", lambda: current_line(editor).startswith("How is the discount made?"))
    editor.type("A @docs/<Esc><CR>")
    expect("@docs/" in wait_page(editor), "the edited question is built")
    editor.type("q")
    editor.wait_text_gone("╭ Prompt")


def section(editor: Nvim, title: str) -> list[str]:
    """Return the items of a section of the page."""
    lines = editor.lua(LINES)
    start = next((number for number, line in enumerate(lines) if line.startswith(f"## {title}")), len(lines))
    return list(itertools.takewhile(lambda line: line.lstrip().startswith("- "), lines[start + 1 :]))


def is_listed(editor: Nvim, title: str, *parts: str) -> bool:
    """Return whether an item of a section contains all parts."""
    return any(all(part in line for part in parts) for line in section(editor, title))


def set_budget(editor: Nvim, current: str, budget: str) -> None:
    """Change the budget of the page; the input has the current one."""
    editor.type("b")
    editor.wait_text(f"Budget in tokens: {current}")
    editor.type(f"<C-u>{budget}<CR>")


@check("keys on a page pin, drop, restore and add items, and change the budget")
def keys_change_the_prompt(session: Session) -> None:
    editor = session.open_prompt("How is the discount of regular customers made?")
    editor.type("<CR>")
    wait_page(editor)
    to_cart = "gg/^- .*shop.cart.py<CR>"
    editor.type(to_cart + "p")
    editor.wait("the item is pinned", lambda: is_listed(editor, "In the prompt", "shop/cart.py", "[unpin]"))
    editor.type("gg/Cart.total  .unpin.<CR>m")
    editor.wait("the callee is listed", lambda: is_listed(editor, "In the prompt", "callee", "apply_discount"))
    editor.type("m")
    editor.wait("the list is closed", lambda: not is_listed(editor, "In the prompt", "callee"))
    editor.type(to_cart)
    cursor = "return vim.fn.line('.')"
    line = editor.lua(cursor)
    editor.type("x")
    editor.wait("the item is dropped", lambda: is_listed(editor, "Dropped", "shop/cart.py", "[restore]"))
    expect(not is_listed(editor, "In the prompt", "apply_discount"), "a dropped item is not in the prompt")
    expect(editor.lua(cursor) == line, "the cursor keeps its line", editor.lua(cursor))
    expect("lines" in editor.wait_text("## Left out: "), "a closed fold stays closed")
    editor.lua("vim.fn.setreg('\"', '')")
    editor.type("y")
    prompt = editor.wait("the prompt is yanked", lambda: editor.lua(REGISTER))
    expect("def apply_discount" not in prompt, "the yanked prompt is that of the decisions", prompt)
    editor.type("gg/restore<CR>x")
    editor.wait("the item is restored", lambda: is_listed(editor, "In the prompt", "apply_discount"))
    set_budget(editor, "8000", "few")
    editor.wait_text("The budget must be an integer number of tokens.")
    set_budget(editor, "8000", "400")
    editor.wait("the budget is used", lambda: "of 400 tokens" in editor.lua(LINES)[0])
    omitted = editor.wait("items are left out", lambda: section(editor, "Left out"))[0]
    place = next(word for word in omitted.split() if ":" in word)
    editor.type("gg/^## Left out<CR>ja")
    editor.wait("the item is added", lambda: is_listed(editor, "In the prompt", place))
    editor.type("ggp")
    editor.wait_text("This line has nothing to pin.")
    session.write_file("shop/rebate.py", "def rebate_of_regular_customers():\n    return 5\n")
    set_budget(editor, "400", "8000")
    editor.wait("the budget is used", lambda: "of 8,000 tokens" in editor.lua(LINES)[0])
    built_again = lambda: editor.type("R") or "shop/rebate.py" in "\n".join(editor.lua(LINES))  # noqa: E731
    editor.wait("a new file is in the prompt that is built again", built_again)


def click(editor: Nvim, line_part: str, part: str) -> None:
    """Click on a text of a line of the screen."""
    row = next(number for number, line in enumerate(editor.screen.lines()) if line_part in line)
    cells = [cell.text for cell in editor.screen.cells[row]]
    column = next(n for n in range(len(cells)) if "".join(cells[n:]).startswith(part))
    for action in ("press", "release"):
        editor.call("nvim_input_mouse", "left", action, "", 0, row, column + 1)


@check("a click on a button or a place of a page runs it, and a click next to it does not")
def clicks_run_buttons(session: Session) -> None:
    editor = session.open_prompt("How is it rounded? @#Money.times")
    editor.type("<CR>")
    wait_page(editor)
    editor.wait_text("Money.times  [pin] [drop]")
    row = next(number for number, line in enumerate(editor.screen.lines()) if "Money.times  [pin] [drop]" in line)
    for action in ("press", "release"):
        editor.call("nvim_input_mouse", "left", action, "", 0, row, 105)  # behind the end of the line
    editor.wait("the cursor is at the click", lambda: "Money.times  [pin]" in current_line(editor))
    click(editor, "Money.times  [pin]", "[pin]")
    editor.wait_text("Money.times  [unpin] [drop]")
    expect(not section(editor, "Dropped"), "a click behind the line does nothing")
    click(editor, "Money.times  [unpin]", "[drop]")
    editor.wait_text("[restore]")
    click(editor, "[restore]", "[restore]")
    editor.wait_text("Money.times  [pin] [drop]")
    click(editor, "## Left out", "## Left out")
    editor.wait("a click opens a closed fold", lambda: not editor.lua("return vim.fn.foldclosed('.') > 0"))
    click(editor, "Money.times  [pin] [drop]", "shop/money.py")
    editor.wait("the place is open", lambda: editor.lua(POSITION) == ["money.py", 12])


@check("the hints for keys fit narrow windows, floats and splits", isolated=True)
def hints_fit_the_window(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls build How is it rounded?")
    wait_page(editor)
    footer = editor.wait_text("q close")
    expect("e edit  q close ╯" in footer and "…" not in footer, "a wide window shows all keys", footer)
    for width in (80, 60):
        editor.call("nvim_ui_try_resize", width, 36)
        footer = editor.wait_text("…  q close ╯")
        expect("╰" in footer and "y yank" in footer, "a narrow window shows the first keys and the last", footer)
    editor.type("q")
    editor.lua("vim.g.promptls = { preview = { style = 'vsplit' } }")
    editor.call("nvim_ui_try_resize", 120, 36)
    editor.command("Promptls build How is it rounded?")
    wait_page(editor)
    bar = editor.wait_text("q close").rpartition("│")[2]
    expect(bar.startswith(" Prompt") and bar.endswith("…  q close"), "the bar of a split fits it", bar)


@check("`s` without a consumer says what to do")
def sending_without_consumer_is_explained(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls build How is it rounded?")
    wait_page(editor)
    editor.lua("""
      _G.terminals = vim.tbl_filter(function(b) return vim.bo[b].buftype == 'terminal' end, vim.api.nvim_list_bufs())
      for _, bufnr in ipairs(_G.terminals) do vim.api.nvim_buf_delete(bufnr, { force = true }) end
    """)
    editor.type("s")
    what_to_do = "Press y to copy the prompt, or open a terminal or set up a chat plugin: :help promptls-adapters"
    editor.wait("the message says what to do", lambda: what_to_do in messages(editor))


@check("a question whose page is closed is opened again, until its prompt is used")
def closed_page_keeps_the_question(session: Session) -> None:
    editor = session.open_code()
    first_line = "return { vim.bo.filetype, vim.fn.getline(1) }"
    is_code = lambda: editor.lua("return vim.bo.filetype") == "python"  # noqa: E731
    for command in ("Promptls ask How is it rounded?", "Promptls build How is it rounded?"):
        editor.command(command)
        if " ask " in command:
            editor.wait_text("╭ Ask")
            wait_attached(editor)
            editor.type("<C-s>")
        wait_page(editor)
        editor.type("q")
        editor.wait("the code is shown", is_code)
        editor.command("Promptls ask")
        editor.wait("the question is open", lambda: editor.lua(first_line) == ["promptls", "How is it rounded?"])
        wait_attached(editor)
        editor.type(" Why?<C-s>")
        expect("How is it rounded? Why?" in wait_page(editor), "the question is continued")
        editor.lua("vim.fn.setreg('\"', '')")
        editor.type("y")
        editor.wait("the prompt is yanked", lambda: editor.lua(REGISTER))
        editor.type("q")
        editor.wait("the code is shown", is_code)
        editor.command("Promptls ask")
        editor.wait("a new question is open", lambda: editor.lua(first_line) == ["promptls", ""])
        editor.type("<Esc>q")
        editor.wait("the code is shown", is_code)
    editor.command("Promptls ask Why?")
    editor.wait_text("╭ Ask")
    editor.lua("require('promptls.ask').finish(0)")
    editor.type("<Esc>q")
    editor.wait("the code is shown", is_code)
    editor.command("Promptls! ask")
    editor.wait("the finished question is open", lambda: editor.lua(first_line) == ["promptls", "Why?"])


@check("no way to close a question window loses its text, nor does another question")
def questions_are_kept(session: Session) -> None:
    editor = session.open_code()
    is_code = lambda: editor.lua("return vim.bo.filetype") == "python"  # noqa: E731

    def wait_question(text: str) -> None:
        first_line = "return { vim.bo.filetype, vim.fn.getline(1) }"
        editor.wait(f"the question {text!r} is open", lambda: editor.lua(first_line) == ["promptls", text])

    ways = ("q", "<C-w>c", ":q<CR>", ":close!<CR>", "<C-w>w:only!<CR>", ":tabnew<CR>:tabclose<CR>q")
    for count, keys in enumerate(ways):
        editor.command("Promptls ask")
        wait_question("a" * count)
        editor.type("a")
        wait_question("a" * (count + 1))
        editor.type("<Esc>" + keys)
        editor.wait("the code is shown", is_code)
    for text in ("Why?", "Where?"):
        editor.type(f"ggV:Promptls ask {text}<CR>")
        wait_question(f"@selection {text}")
        editor.lua("require('promptls.ask').finish(0)")
        editor.type("<Esc>q")
        editor.wait("the code is shown", is_code)
    editor.command("Promptls ask")
    wait_question("a" * len(ways))


@check("a line of a question is not broken after the @ of a mention, and 'breakat' is restored")
def mentions_are_wrapped_as_a_whole(session: Session) -> None:
    editor = session.open_code()
    breakat = editor.lua("return vim.o.breakat")
    editor.command("Promptls ask")
    editor.wait_text("╭ Ask")
    width = editor.lua("return vim.api.nvim_win_get_width(0)")
    editor.type("a" * (width - 2) + " @shop/cart.py")
    editor.wait_text("│@shop/cart.py")
    editor.type("<Esc>q")
    editor.wait("the option is restored", lambda: sorted(editor.lua("return vim.o.breakat")) == sorted(breakat))


@check("a build and a copy warn about mentions that are not in the prompt")
def missing_mentions_are_reported(session: Session) -> None:
    editor = session.open_prompt("Is @shop/crat.py like @#Monney and @shop/money.py?")
    warning = "Not in the prompt: @shop/crat.py, @#Monney."
    editor.type("<CR>")
    wait_page(editor)
    editor.wait("the build warns", lambda: warning in messages(editor))
    editor.type("q:messages clear<CR>")
    editor.wait("the page is closed", lambda: editor.lua("return vim.bo.filetype") == "promptls")
    editor.type("gy")
    editor.wait("the copy warns", lambda: warning in messages(editor))


@check("a page returns to the question window, which keeps the build options")
def page_returns_to_the_question(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls ask budget=3000 How is it rounded?")
    editor.wait_text("╭ Ask")
    wait_attached(editor)
    editor.type("<C-s>")
    expect("of 3,000 tokens" in wait_page(editor), "the budget of the command is used")
    editor.type("e")
    editor.wait_text("╭ Ask")
    editor.type("A @#rounded<Esc><CR>")
    page_text = wait_page(editor)
    expect(
        "✓ @#rounded" in page_text and "of 3,000 tokens" in page_text,
        "the edited question is built with the same budget",
        page_text,
    )


@check("a shell in a terminal executes no line of a prompt, it gets the path of a file")
def prompts_are_not_typed_into_shells(session: Session) -> None:
    for shell in ("sh", "bash"):
        _send_to_shell(session, shell)


def _send_to_shell(session: Session, shell: str) -> None:
    editor = session.open_code()
    marker = session.workspace / f"executed_by_{shell}"
    (session.workspace / "shop/notes.py").write_text(f"# \x1b[201~\r\ntouch {marker}\n")
    editor.command(f"terminal {shell}")
    editor.wait("the shell has a prompt", lambda: editor.lua("return vim.fn.search('[$#] *$', 'nw') > 0"))
    number = editor.lua("return vim.api.nvim_get_current_buf()")
    editor.lua("vim.cmd.buffer('cart.py')")
    editor.command("Promptls build Why? @shop/notes.py")
    wait_page(editor)
    editor.type("s")
    editor.command(f"buffer {number}")
    written = "return vim.fn.glob(vim.fn.fnamemodify(vim.fn.tempname(), ':h') .. '/*.md', true, true)"
    paths = editor.wait("the prompt is in a file", lambda: editor.lua(written))
    expect("touch" in Path(paths[-1]).read_text(), "the file has the prompt")
    editor.lua(f"vim.fn.chansend(vim.b[{number}].terminal_job_id, '\\rtouch {marker}.end\\r')")
    editor.wait("the shell is done", lambda: Path(f"{marker}.end").exists())
    expect(not marker.exists(), f"{shell} executed no line of the prompt")
    editor.command("bwipeout!")


@check(
    "names and texts of files are not executed: popup, pages, buffers, bars, command line, log, terminal", isolated=True
)
def hostile_files_are_not_executed(session: Session) -> None:
    attack, mark = "writefile([],$PW.'-%s')", session.folder / "mark"
    folder = session.folder / "$(touch $PW-folder)"  # of temporary files
    folder.mkdir()
    session.env |= {"PW": str(mark), "TMPDIR": str(folder)}
    session.write_file("a\ncall " + attack % "line" + "\nb.py", "def newline_name(): ...\n")
    session.write_file("e\x1b:call " + attack % "escape" + "\r.py", "def escape_name(): ...\n")
    session.write_file("s%{" + attack % "bar" + "}|call " + attack % "name" + "|.py", "def bar_name(): ...\n")
    modeline = "# vim: set statusline=%{" + attack % "modeline" + "} :\n"
    session.write_file("notes.py", f"{modeline}def notes(): ...\n[x](command:lua)\n\x1b]8;;file:///\x07{modeline}")
    session.write_init("""
      vim.o.modeline, vim.o.modelineexpr = true, true
      vim.g.promptls = { preview = { style = 'split' } }
      vim.lsp.enable('promptls')
      vim.o.statusline = "%f %{v:lua.require'promptls'.statusline()}"
    """)
    editor = session.open_prompt()
    editor.lua("vim.cmd('split | terminal sh') vim.cmd.wincmd('p')")
    editor.type("i")
    for symbol in ("newline_name", "escape_name", "bar_name"):
        editor.type(f"@#{symbol}")
        wait_completion(editor, f"@#{symbol}")
        editor.type("<C-n><C-y> ")
        editor.wait("the popup is closed", lambda: not editor.call("nvim_call_function", "pumvisible", []))
    editor.type("@notes.py ?<Esc><CR>")
    expect("vim: set" in wait_page(editor), "the file is quoted")
    editor.type("s")
    editor.wait("a path with a command is refused", lambda: "Set TMPDIR to another folder." in messages(editor))
    expect(editor.lua("return vim.b.promptls_finished == nil"), "a question that was not sent is not finished")
    editor.type("<CR>")
    wait_page(editor)
    editor.type("o")
    editor.wait("the prompt is in a buffer", lambda: editor.lua("return vim.bo.modifiable"))
    expect(not editor.lua("return vim.bo.modeline"), "the buffer reads no modeline")
    editor.type(":Promptls ask @s%<Tab>")
    editor.wait("the name is completed", lambda: "bar" in editor.lua("return vim.fn.getcmdline()"))
    editor.type("<CR>")
    editor.wait("the question is open", lambda: current_line(editor).startswith('@"s%{'))
    editor.command("Promptls memory search %{" + attack % "title" + "}")
    editor.wait_text("Memory: %{writefile")
    log = session.home / ".local/state/promptls/log/promptls.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"cannot read {modeline}")
    editor.command("Promptls log")
    editor.wait("the log is open", lambda: editor.lua("return vim.fn.expand('%:t')") == "promptls.log")
    editor.wait_text("cannot read # vim: set")
    expect(not editor.lua("return vim.bo.modeline"), "the log reads no modeline")
    executed = list(session.folder.glob("mark-*"))
    expect(not executed, "nothing is executed", executed)


@check("a prompt is sent to a registered consumer")
def prompts_are_sent_to_consumers(session: Session) -> None:
    editor = session.open_code()
    editor.lua("""
      require('promptls').register('test', {
        title = 'test',
        available = function() return _G.sent == nil end,
        send = function(prompt, result, question) _G.sent = { prompt, result.tokens.used, question } end,
      })
    """)
    editor.command("Promptls build How is it rounded? @#rounded")
    wait_page(editor)
    editor.type("s")
    prompt, used, question = editor.wait("the consumer is called", lambda: editor.lua("return _G.sent"))
    expect("def rounded" in prompt and used > 0, "the consumer receives the prompt")
    expect(question == "How is it rounded? @#rounded", "the consumer receives the question", question)


@check("search results go to the quickfix list or a selection menu")
def search_shows_results(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls search where are articles reserved")
    editor.wait_text("[Quickfix List] promptls: where are articles reserved")
    expect("reserve" in editor.wait_text("shop/stock.py|11-16"), "the definition is in the results")
    editor.type("gg<CR>")
    position = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    editor.wait("the entry opens the file", lambda: editor.lua(position) == ["stock.py", 11])
    editor.command("cclose")
    editor.command("Promptls! search limit=2 path=shop/** money is rounded")
    editor.wait_text("2: ")
    expect("3: " not in editor.screen.text(), "the limit is respected")
    expect("shop/money.py" in editor.wait_text("1: "), "the path filter is respected")
    editor.type("1<CR>")
    editor.wait("the choice opens the file", lambda: editor.lua(position)[0] == "money.py")
    editor.command("Promptls search limit=0 x")
    editor.wait_text("limit: must be between 1 and 1000.")


@check("explain describes the definition under the cursor or by name, and reports unknown names")
def explain_describes_definitions(session: Session) -> None:
    editor = session.open_code()
    editor.type("/return apply_discount<CR>w")
    editor.command("Promptls explain")
    editor.wait_text("# apply_discount (function)")
    editor.type("/test_cart.py<CR><CR>")
    position = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    editor.wait("a file reference on the page opens the file", lambda: editor.lua(position) == ["test_cart.py", 7])
    editor.command("Promptls explain Money.times")
    editor.wait_text("# Money.times (method)")
    editor.type("q")
    editor.wait_text_gone("# Money.times")
    editor.command("Promptls explain Monney")
    editor.wait_text("Nothing in the workspace is called Monney")


@check("graph shows the subgraph of a question, and call paths")
def graph_shows_subgraphs_and_paths(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls graph discount")
    editor.wait_text("contains apply_discount  shop/cart.py:")
    editor.type("q")
    editor.command("Promptls graph from=Cart.total to=rounded")
    editor.wait_text("## Call Paths")
    editor.type("gg/→ apply_discount<CR><CR>")
    editor.wait("a place on the page opens the file", lambda: editor.lua(POSITION)[0] == "cart.py")


@check("memory entries are added, searched, included in prompts and removed")
def memory_entries_are_managed(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls memory add Discounts are decided by Ms Weber.")
    editor.wait_text("1: knowledge")
    editor.type("1<CR>")
    editor.wait_text("1: user (all workspaces)")
    editor.type("1<CR>")
    editor.wait_text("Added to memory: Discounts are decided by Ms Weber")
    editor.command("Promptls build Who decides about discounts?")
    expect("Ms Weber" in wait_page(editor), "the entry is in the prompt")
    editor.type("q")
    editor.command("Promptls memory search discounts")
    editor.wait_text("╭ Memory: discounts")
    editor.wait_text("## Discounts are decided by Ms Weber")
    editor.type("/Ms Weber<CR>x")
    editor.wait_text("1: Remove")
    editor.type("1<CR>")
    editor.wait_text_gone("## Discounts are decided")
    editor.type("q")
    editor.command("Promptls memory")
    editor.wait_text("No memory entries.")


@check("a recipe adds its task to the prompt")
def recipes_add_their_task(session: Session) -> None:
    editor = session.open_code()
    editor.type("/def apply<CR>V4j:Promptls recipes<CR>")
    number = editor.wait_text("review: ").strip().split(":")[0]
    editor.type(f"{number}<CR>")
    editor.wait_text("╭ Ask")
    wait_attached(editor)
    editor.type("<C-s>")
    page_text = wait_page(editor)
    expect(" task " in page_text, "the prompt contains the task", page_text)
    expect("✓ @selection" in page_text, "the prompt contains the selection", page_text)
    editor.type("q")
    editor.command("Promptls build recipe=review arg.focus=rounding @shop/money.py")
    expect("rounding" in wait_page(editor), "the task contains the argument")


@check("status, mention kinds, ignore rules, statusline and log are shown")
def information_is_shown(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls status")
    editor.wait_text("# promptls: ")
    editor.type("q")
    editor.command("Promptls mentions")
    editor.wait_text("# Mentions")
    editor.type("q")
    editor.command("Promptls ignored")
    editor.wait_text("shop/cart.py is indexed")
    statusline = "return require('promptls').statusline()"
    editor.wait("the statusline shows the status", lambda: editor.lua(statusline).endswith(" files"))
    editor.command("Promptls search limit=0 x")  # writes to the log
    editor.wait_text("limit: must be between 1 and 1000.")
    log = session.home / ".local/state/promptls/log/promptls.log"
    editor.wait("the log is written", log.exists)
    editor.command("Promptls log")
    editor.wait("the log is open", lambda: editor.lua("return vim.fn.expand('%:t')") == "promptls.log")


@check("a scratch prompt is a prompt document without a file")
def scratch_prompt_has_no_file(session: Session) -> None:
    editor = session.open_code()
    editor.command("Promptls scratch")
    wait_attached(editor)
    editor.type("How is it rounded? @#round")
    wait_completion(editor, "@#round")
    editor.type("<C-n><C-y><Esc><CR>")
    expect("✓ @#rounded" in wait_page(editor), "the prompt is built")
    editor.type("q")
    editor.type(":write saved.prompt.md<CR>")
    editor.wait("the prompt is saved", lambda: (session.workspace / "saved.prompt.md").exists())


@check("mentioned diagnostics, terminal, quickfix list and clipboard are in the prompt")
def mentioned_client_context_is_sent(session: Session) -> None:
    editor = session.open_code()
    editor.lua("""
      local linter = vim.api.nvim_create_namespace('linter')
      vim.diagnostic.set(linter, vim.fn.bufnr('cart.py'), {
        { lnum = 27, col = 15, end_lnum = 27, end_col = 22, message = 'rounds twice', severity = 2, source = 'linter', code = 'R7' },
      })
      vim.fn.setqflist({ { filename = 'shop/stock.py', lnum = 11, end_lnum = 16, text = 'here' } })
      vim.fn.setreg('"', 'copied text')
    """)
    editor.command("terminal printf 'price mismatch in order 77\\n'; exec cat")
    editor.wait("the terminal shows the output", lambda: current_line(editor).startswith("price mismatch in order 77"))
    editor.type("<C-\\><C-n>")
    editor.lua("vim.cmd.buffer('cart.py')")
    editor.command("Promptls build Why? @problems @terminal @quickfix @clipboard")
    page_text = wait_page(editor)
    for part in ("rounds twice", "price mismatch in order 77", "copied text"):
        expect(part in page_text, f"the prompt contains {part!r}", page_text)
    for mention in ("@problems", "@terminal", "@quickfix", "@clipboard"):
        expect(f"✓ {mention}" in page_text, f"{mention} is included", page_text)


@check("clipboard, terminal and diagnostics are not sent unless they are mentioned")
def unmentioned_client_context_is_not_sent(session: Session) -> None:
    editor = session.open_code()
    editor.lua("""
      vim.fn.setreg('"', 'a password')
      local client = vim.lsp.get_clients({ name = 'promptls' })[1]
      local request = client.request
      client.request = function(self, method, params, ...)
        _G.params = method == 'promptls/openPage' and vim.json.encode(params.params) or _G.params
        return request(self, method, params, ...)
      end
    """)
    editor.command("Promptls build How is it rounded?")
    wait_page(editor)
    params = editor.lua("return vim.json.decode(_G.params)")
    expect(sorted(params) == ["context", "message"], "only message and context are sent", sorted(params))
    names = sorted(params["context"])
    expect(
        names == ["activeDocument", "openDocuments", "visibleDocuments"], "the context contains only documents", names
    )
    expect("password" not in editor.lua("return _G.params"), "the clipboard is not sent")


@check("subcommands, options and mentions are completed on the command line")
def command_line_is_completed(session: Session) -> None:
    editor = session.open_code()
    for typed, completed in (
        (":Promptls sea<Tab>", ":Promptls search"),
        (":Promptls build recipe=rev<Tab>", ":Promptls build recipe=review"),
        (":Promptls ask why @shop/mon<Tab>", ":Promptls ask why @shop/money.py"),
        (":Promptls explain apply_d<Tab>", ":Promptls explain apply_discount"),
        (":Promptls graph fr<Tab>", ":Promptls graph from="),
        (":Promptls memory a<Tab>", ":Promptls memory add"),
    ):
        editor.type(typed)
        editor.wait_text(completed)
        editor.type("<Esc>")


@check("invalid commands and arguments are reported")
def invalid_commands_are_reported(session: Session) -> None:
    editor = session.open_code()
    for command, message in (
        ("Promptls bild", "Unknown subcommand 'bild'. Press Tab after :Promptls to list them."),
        ("Promptls build budget=much x", "budget=much: must be an integer number of tokens."),
        ("Promptls build variant=loose x", "unknown variant 'loose'; valid:"),
        ("Promptls memory forget", "memory: unknown action 'forget'. Valid actions: list, add, search."),
        ("Promptls copy", "The current buffer is not a prompt document. Run :Promptls ask to open one."),
        ("Promptls cancel", "No request is pending."),
    ):
        editor.command(command)
        editor.wait_text(message)
        if editor.mode() != "n":
            editor.type("<CR>")
    session.open_prompt()
    editor.type("<CR>")
    editor.wait_text("message: must not be blank")
