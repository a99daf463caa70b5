"""What a prompt document shows and does while a question is typed into it, with real keys on the real screen."""

from __future__ import annotations

from suite import Session, attached, check, expect, line, offered, preview


@check("an @-mention is typed, the popup opens, and what is taken stands in the text")
def takes_a_completion(session: Session) -> None:
    editor = session.prompt()
    editor.type("iHow is the discount applied? @shop/ca")
    expect(offered(editor, "@shop/ca") == ["@shop/cart.py"], "the file is offered")
    expect("tokens" in editor.sees("python, 29 lines"), "the popup tells what a file costs")
    editor.type("<C-n><C-y> then")
    editor.wait("it is inserted", lambda: line(editor) == "How is the discount applied? @shop/cart.py then")
    editor.wait("the popup is closed", lambda: not editor.call("nvim_call_function", "pumvisible", []))


@check("the list follows every letter, also when Neovim's own filter would have emptied it")
def follows_letters(session: Session) -> None:
    editor = session.prompt()
    editor.type("i@")
    expect("@active" in offered(editor, "@"), "the kinds are offered at once")
    for letter in "stock":  # "@stock" is the beginning of no item: @shop/stock.py fits by its name
        editor.type(letter)
    expect(offered(editor, "@stock")[0] == "@shop/stock.py", "the file is the first")
    editor.type("<BS><BS><BS><BS><BS>")
    expect("@active" in offered(editor, "@"), "erasing asks again")
    editor.type("cart")
    expect("@shop/cart.py" in offered(editor, "@cart"), "and typing on")


@check("symbols are completed behind @#")
def completes_symbols(session: Session) -> None:
    editor = session.prompt()
    editor.type("i@#apply")
    expect(offered(editor, "@#apply")[0] == "@#apply_discount", "the definition is the first")
    editor.type("<C-n><C-y>")
    editor.wait("it is inserted", lambda: line(editor) == "@#apply_discount")


@check("a folder is completed, and then what is in it")
def completes_folders(session: Session) -> None:
    editor = session.prompt()
    editor.type("i@docs")
    expect(offered(editor, "@docs")[0] == "@docs/", "the folder is the first")
    editor.type("<C-n><C-y>")
    editor.wait("the folder is inserted", lambda: line(editor) == "@docs/")
    expect(offered(editor, "@docs/")[0] == "@docs/orders.md", "its files are offered at once")
    editor.type("<C-n><C-y>")
    editor.wait("the file is inserted", lambda: line(editor) == "@docs/orders.md")


@check("a name with spaces is inserted whole")
def completes_spaces(session: Session) -> None:
    editor = session.prompt()
    editor.lua("vim.cmd.split(...) vim.cmd.write()", "notes of today.md")
    attached(editor)
    editor.lua("vim.cmd.close()")
    editor.type("i@notes")
    offered(editor, "@notes")
    editor.type("<C-n><C-y>")
    editor.wait("it is quoted and whole", lambda: line(editor) == '@"notes of today.md"')


@check("completing in the middle of a mention leaves no rest of it behind")
def completes_inside(session: Session) -> None:
    editor = session.prompt("Look at @shop/money.py please")
    editor.type("0fmi")  # before the "m" of money
    editor.type("<BS>/ca")
    offered(editor, "@shop/ca")
    editor.type("<C-n><C-y>")
    editor.wait("the rest is gone", lambda: line(editor) == "Look at @shop/cart.py please")


@check("other letters than ASCII before a mention do not shift it")
def counts_right(session: Session) -> None:
    editor = session.prompt()
    editor.type("iGrüße 😀 an @shop/mon")
    offered(editor, "@shop/mon")
    editor.type("<C-n><C-y>!")
    editor.wait("it is inserted", lambda: line(editor) == "Grüße 😀 an @shop/money.py!")


@check("hovering over a mention shows what would be sent")
def hovers(session: Session) -> None:
    editor = session.prompt("Is @shop/money.py:17-19 right?")
    editor.type("0f@lK")
    editor.sees("Round half up to whole cents.")


@check("a diagnostic names what is wrong, and its fix mends the text")
def fixes(session: Session) -> None:
    editor = session.prompt()
    editor.type("iWhat is @#Monney for?<Esc>")
    editor.wait("the sign of an error is drawn", lambda: editor.screen.lines()[0].startswith("E "))
    editor.type("0f@<C-w>d")
    editor.sees('Symbol "Monney" not found')
    editor.type("<Esc>0f@gra")
    editor.sees("Change to: @#Money")
    editor.type("1<CR>")
    editor.wait("the mention is mended", lambda: line(editor) == "What is @#Money for?")
    editor.wait("nothing is wrong any more", lambda: not editor.lua("return #vim.diagnostic.get(0) > 0"))


@check("what mentions cost stands beside them, what is spent in the first line")
def costs(session: Session) -> None:
    editor = session.prompt("Is @shop/money.py right?")
    hint = editor.sees(" tokens right?")
    expect(hint.startswith("Is @shop/money.py "), "the cost stands behind the mention", hint)
    lens = editor.sees("of 8,000 tokens")
    expect("Build prompt" in lens and "Copy prompt" in lens, "the lens offers the prompt", lens)


@check("gd and CTRL-] go to the lines that a mention names")
def goes_there(session: Session) -> None:
    editor = session.prompt("Is @shop/money.py:17-19 right?")
    place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"
    for keys in ("0f@gd", "0f@<C-]>"):
        editor.type(keys)
        editor.wait("the file is open", lambda: editor.lua(place) == ["money.py", 17])
        editor.command("buffer question")
        editor.sees("Is @shop/money.py")


@check("mentions have colours of their own")
def colours(session: Session) -> None:
    editor = session.prompt("# Title\nIs @shop/money.py right? And @#Monney?")
    tokens = """
      local found = {}
      for _, mark in ipairs(vim.inspect_pos(0, 1, 5).semantic_tokens) do found[#found + 1] = mark.opts.hl_group end
      return found
    """
    editor.wait("semantic tokens are there", lambda: "@lsp.type.string.promptls" in editor.lua(tokens))
    row = editor.screen.lines().index(editor.sees("# Title"))
    mention = editor.screen.lines()[row + 1].index("@shop")

    def differs() -> bool:
        cells = editor.screen.cells[row + 1]
        plain, marked = editor.screen.colour_of(cells[mention - 2]), editor.screen.colour_of(cells[mention + 2])
        return plain[0] != marked[0]

    editor.wait("a mention is drawn in another colour than the text", differs)


@check("renaming a mention changes it everywhere in the document")
def renames(session: Session) -> None:
    editor = session.prompt("Is @#Cart right?\nAnd @#Cart again?")
    editor.type("ggf@grn")
    editor.sees("New Name")
    editor.type("<C-u>@#Money<CR>")
    both = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)"
    editor.wait("both are renamed", lambda: editor.lua(both) == ["Is @#Money right?", "And @#Money again?"])


@check("the outline of a prompt document lists its mentions")
def outlines(session: Session) -> None:
    editor = session.prompt("Is @shop/money.py right? And @#Cart?")
    editor.type("gO")
    editor.sees("[File] @shop/money.py")
    editor.sees("@#Cart")


@check("a file that is edited and not saved is in the prompt as it is edited")
def unsaved(session: Session) -> None:
    editor = session.prompt("How much is it? @shop/cart.py")
    editor.type(":edit shop/cart.py<CR>")
    editor.sees("def apply_discount")
    editor.type("/0.95<CR>4s0.85<Esc>:buffer question<CR><CR>")
    shown = preview(editor)
    expect("price.times(0.85)" in shown, "the edit is in the prompt", shown)
    expect("price.times(0.95)" not in shown, "the old text is not", shown)
    expect("0.95" in (session.workspace / "shop/cart.py").read_text(), "the file is not saved")


@check("a lens and a code action lead to the preview, another lens to the register")
def commands(session: Session) -> None:
    editor = session.prompt("How is it rounded? @shop/money.py")
    editor.sees("of 8,000 tokens")
    editor.type("gra")
    editor.sees("Build the prompt")
    editor.type("1<CR>")
    expect("# Question" in preview(editor), "the code action builds")
    editor.type("q")
    editor.sees_no("In the prompt")
    editor.lua("vim.schedule(vim.lsp.codelens.run)")
    editor.sees("2: Build prompt")
    editor.type("2<CR>")
    expect("# Question" in preview(editor), "the lens builds")
    editor.type("q")
    editor.sees_no("In the prompt")
    editor.lua("vim.schedule(vim.lsp.codelens.run)")
    editor.sees("3: Copy prompt")
    editor.type("3<CR>")
    register = "return vim.fn.getreg('\"')"
    editor.wait("the prompt is in the register", lambda: "How is it rounded?" in editor.lua(register))
    editor.wait("with the file", lambda: "def rounded" in editor.lua(register))


@check("blink.cmp and nvim-cmp take over completion where they are", alone=True)
def other_completion(session: Session) -> None:
    session.init("package.loaded['blink.cmp'] = {} vim.lsp.enable('promptls')")
    editor = session.prompt()
    editor.type("i@shop/ca")
    editor.wait("all is typed", lambda: line(editor) == "@shop/ca")
    asked = "return vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/completion' })[1] ~= nil"
    expect(editor.lua(asked), "their LSP source finds the server")
    editor.wait("the lens has followed", lambda: "of 8,000 tokens" in editor.screen.text())
    expect(not editor.call("nvim_call_function", "pumvisible", []), "Neovim's own popup stays closed")
    again = "return vim.lsp.get_clients({ name = 'promptls' })[1]:request_sync('textDocument/completion', ...)"
    where = {"textDocument": {"uri": f"file://{session.workspace}/question-1.prompt.md"}}
    found = editor.lua(again, {**where, "position": {"line": 0, "character": 8}})
    expect(found.get("result"), "it is answered", found)
    expect("@shop/cart.py" in [item["label"] for item in found["result"]["items"]], "and gets the same items")
