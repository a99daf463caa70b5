"""The pictures of the documentation: the true screen of a Neovim that is used as the documentation tells."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from nvim import Nvim
from PIL import Image, ImageDraw, ImageFont
from screen import Cell
from suite import PLUGIN, Session, attached, check, expect, offered, preview, ready

FONTS = Path("/usr/share/fonts/truetype/dejavu")
SIZE = 18
LARGEST = 120_000


def paint(editor: Nvim, name: str) -> None:
    """Write the screen as a PNG file."""
    regular, bold = (ImageFont.truetype(str(FONTS / f"DejaVuSansMono{kind}.ttf"), SIZE) for kind in ("", "-Bold"))
    width, height = round(regular.getlength("m")), SIZE + 5
    screen = editor.screen
    image = Image.new("RGB", (screen.width * width, screen.height * height))
    draw = ImageDraw.Draw(image)
    for y, row in enumerate(screen.cells):
        for x, cell in enumerate(row):
            _, back, _ = screen.colour_of(cell)
            draw.rectangle((x * width, y * height, (x + 1) * width, (y + 1) * height), _rgb(back))
    for y, row in enumerate(screen.cells):
        for x, cell in enumerate(row):
            front, _, attribute = screen.colour_of(cell)
            left, top = x * width, y * height
            _glyph(draw, cell, left, top, width, height, front, bold if attribute.get("bold") else regular)
            if any(attribute.get(kind) for kind in ("underline", "undercurl")):
                line = attribute.get("special", front)
                draw.line((left, top + height - 2, left + width, top + height - 2), _rgb(line))
    y, x = screen.cursor
    draw.rectangle((x * width, y * height, x * width + 2, (y + 1) * height - 1), _rgb(screen.colours["foreground"]))
    file = PLUGIN / "images" / f"{name}.png"
    file.parent.mkdir(exist_ok=True)
    image.quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)
    expect(file.stat().st_size <= LARGEST, f"{file.name} is small", file.stat().st_size)


def _glyph(
    draw: ImageDraw.ImageDraw,
    cell: Cell,
    left: int,
    top: int,
    width: int,
    height: int,
    colour: int,
    font: ImageFont.FreeTypeFont,
) -> None:
    """A character; those that are made of blocks are drawn, so that they join."""
    if not cell.text.strip():
        return
    if cell.text == "█":
        draw.rectangle((left, top + 4, left + width, top + height - 5), _rgb(colour))
    elif cell.text in "│─╭╮╰╯":
        _border(draw, cell.text, left, top, width, height, _rgb(colour))
    else:
        wide = unicodedata.east_asian_width(cell.text[0]) == "W"
        draw.text((left + (width // 4 if wide else 0), top + 1), cell.text, _rgb(colour), font)


def _border(
    draw: ImageDraw.ImageDraw, text: str, left: int, top: int, width: int, height: int, colour: tuple[int, int, int]
) -> None:
    x, y = left + width // 2, top + height // 2
    if text in "─╮╯":
        draw.line((left, y, x, y), colour)
    if text in "─╭╰":
        draw.line((x, y, left + width, y), colour)
    if text in "│╯╰":
        draw.line((x, top, x, y), colour)
    if text in "│╭╮":
        draw.line((x, y, x, top + height), colour)


def _rgb(colour: int) -> tuple[int, int, int]:
    return colour >> 16 & 255, colour >> 8 & 255, colour & 255


@check("pictures: completion and preview", alone=True)
def pictures(session: Session) -> None:
    """Both, as the README tells of them."""
    session.init("""
      vim.o.number, vim.o.ruler, vim.o.showcmd = true, false, false
      vim.g.promptls = { settings = { budget = { tokens = 1200 } } }
      vim.lsp.enable('promptls')
    """)
    editor = session.start("shop/cart.py", width=108, height=30)
    attached(editor)
    ready(editor)
    session.write("discount.prompt.md", "")
    editor.type(":split discount.prompt.md<CR>:resize 16<CR>")
    attached(editor)
    editor.type("i# A second discount<CR><CR>")
    editor.type("How is the discount of @shop/cart.py:25-29 rounded, and where would<CR>")
    editor.type("a voucher go? See @#Monney.times and @sho")
    expect("@shop/cart.py" in offered(editor, "@sho"), "files are offered")
    editor.sees("not found")
    editor.sees(" of 1,200 tokens, 2 mentions")
    paint(editor, "completion")
    editor.type("<C-e><Esc>:only<CR>")
    editor.call("nvim_ui_try_resize", 108, 48)
    editor.type("Sa voucher go? See @#Money.times and @docs/orders.md<Esc>")
    editor.sees(" of 1,200 tokens, 3 mentions")
    editor.type("<CR>")
    expect("@docs/orders.md" in preview(editor), "the prompt is built")
    editor.sees("def apply_discount")
    paint(editor, "preview")
