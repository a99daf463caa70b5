"""Images for the documentation: screenshots and an animation of the real screen of Neovim."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path

from nvim import Nvim
from PIL import Image, ImageDraw, ImageFont
from screen import Cell
from suite import PLUGIN, Session, check, expect, wait_attached, wait_completion, wait_page, wait_ready

FONTS = Path("/usr/share/fonts/truetype/dejavu")
SIZE = 18
MAX_PICTURE_BYTES = 120_000
MAX_TOUR_BYTES = 900_000
DOCS = PLUGIN.parents[1] / "server" / "docs" / "images"


def picture(editor: Nvim) -> Image.Image:
    """Return the screen as an image."""
    regular, bold = (ImageFont.truetype(str(FONTS / f"DejaVuSansMono{kind}.ttf"), SIZE) for kind in ("", "-Bold"))
    width, height = round(regular.getlength("m")), SIZE + 5
    screen = editor.screen
    image = Image.new("RGB", (screen.width * width, screen.height * height))
    draw = ImageDraw.Draw(image)
    for y, row in enumerate(screen.cells):
        for x, cell in enumerate(row):
            _, background, _ = screen.colour_of(cell)
            draw.rectangle((x * width, y * height, (x + 1) * width, (y + 1) * height), _rgb(background))
    for y, row in enumerate(screen.cells):
        for x, cell in enumerate(row):
            foreground, _, attribute = screen.colour_of(cell)
            left, top = x * width, y * height
            _glyph(draw, cell, left, top, width, height, foreground, bold if attribute.get("bold") else regular)
            if any(attribute.get(kind) for kind in ("underline", "undercurl")):
                line = attribute.get("special", foreground)
                draw.line((left, top + height - 2, left + width, top + height - 2), _rgb(line))
    y, x = screen.cursor
    draw.rectangle((x * width, y * height, x * width + 2, (y + 1) * height - 1), _rgb(screen.colours["foreground"]))
    return image.quantize(64, dither=Image.Dither.NONE)


def paint(editor: Nvim, name: str) -> None:
    """Write the screen as a PNG file."""
    file = PLUGIN / "images" / f"{name}.png"
    file.parent.mkdir(exist_ok=True)
    picture(editor).save(file, optimize=True)
    expect(file.stat().st_size <= MAX_PICTURE_BYTES, f"{file.name} is within the size limit", file.stat().st_size)


class Recorder:
    """Records screens of Neovim as the frames of an animated picture."""

    def __init__(self, editor: Nvim) -> None:
        self._editor = editor
        self._frames: list[Image.Image] = []
        self._durations: list[int] = []

    def frame(self, milliseconds: int) -> None:
        """Add the current screen."""
        self._frames.append(picture(self._editor))
        self._durations.append(milliseconds)

    def type(self, text: str, milliseconds: int = 70, settle_s: float = 0.12) -> None:
        """Type a text and add a frame for every second character."""
        for at in range(0, len(text), 2):
            self._editor.type(text[at : at + 2])
            time.sleep(settle_s)
            self.frame(2 * milliseconds)

    def save(self, *files: Path) -> None:
        """Write the frames as a GIF file to each of the paths."""
        first, *rest = self._frames
        for file in files:
            file.parent.mkdir(exist_ok=True)
            first.save(file, save_all=True, append_images=rest, duration=self._durations, loop=0, optimize=True)
            expect(file.stat().st_size <= MAX_TOUR_BYTES, f"{file.name} is within the size limit", file.stat().st_size)


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
    """Draw a character. Block and box characters are drawn as shapes, so that they join."""
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


@check("pictures: completion and page", isolated=True)
def pictures(session: Session) -> None:
    """Take the screenshots of the README."""
    session.write_init("""
      vim.o.number, vim.o.ruler, vim.o.showcmd = true, false, false
      vim.g.promptls = { settings = { budget = { tokens = 1200 } } }
      vim.lsp.enable('promptls')
    """)
    editor = session.start("shop/cart.py", width=108, height=30)
    wait_attached(editor)
    wait_ready(editor)
    session.write_file("discount.promptls.md", "")
    editor.type(":split discount.promptls.md<CR>:resize 16<CR>")
    wait_attached(editor)
    editor.type("i# A second discount<CR><CR>")
    editor.type("How is the discount of @shop/cart.py:25-29 rounded, and where would a<CR>")
    editor.type("coupon go? @#Monney.times, ")
    editor.wait_text("not found")
    editor.wait_text(" of 1,200 tokens, 2 mentions")  # the menu does not follow a line that is inserted above it
    editor.type("@sho")
    expect("@shop/cart.py" in wait_completion(editor, "@sho"), "files are completed")
    paint(editor, "completion")
    editor.type("<C-e><Esc>:only<CR>")
    editor.call("nvim_ui_try_resize", 108, 48)
    editor.type("Scoupon go? @#Money.times and @docs/orders.md<Esc>")
    editor.wait_text(" of 1,200 tokens, 3 mentions")
    editor.type("<CR>")
    expect("@docs/orders.md" in wait_page(editor), "the prompt is built")
    editor.wait_text("## Text")
    paint(editor, "preview")


@check("pictures: the tour", isolated=True)
def tour(session: Session) -> None:
    """Record a mention being typed and a prompt being built."""
    session.write_init("""
      vim.o.number, vim.o.ruler, vim.o.showcmd = true, false, false
      vim.g.promptls = { settings = { budget = { tokens = 1200 } } }
      vim.lsp.enable('promptls')
    """)
    editor = session.start("shop/cart.py", width=104, height=26)
    wait_attached(editor)
    wait_ready(editor)
    session.write_file("question.promptls.md", "")
    editor.type(":edit question.promptls.md<CR>")
    wait_attached(editor)
    editor.type("i# Rounding<CR><CR>")
    editor.wait_text("# Rounding")
    editor.wait_text(" of 1,200 tokens")
    recorder = Recorder(editor)
    recorder.frame(600)
    recorder.type("How is the discount rounded? See @sho")
    expect("@shop/cart.py" in wait_completion(editor, "@sho"), "files are completed")
    recorder.frame(1200)
    editor.type("<C-e>")
    recorder.type("p/cart.py:25-29 ")
    editor.wait_text(" of 1,200 tokens, 1 mention")
    recorder.frame(900)
    editor.type("<CR>")
    recorder.type("and the method @#Mon")
    expect(any("Money" in label for label in wait_completion(editor, "@#Mon")), "symbols are completed")
    recorder.frame(1200)
    editor.type("<C-e>")
    recorder.type("ey.times")
    editor.type("<Esc>")
    editor.wait_text(" of 1,200 tokens, 2 mentions")
    recorder.frame(1000)
    editor.type("<CR>")
    expect("shop/cart.py" in wait_page(editor), "the prompt is built")
    editor.wait_text("In the prompt: ")
    recorder.frame(4000)
    recorder.save(PLUGIN / "images" / "tour.gif", DOCS / "tour.gif")
