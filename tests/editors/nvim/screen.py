"""Screen of an attached user interface: cells with text and colours.

The screen is updated from `redraw` notifications of ext_linegrid. Neovim draws floats and popup menus into the same
grid, so that the screen equals the output of a terminal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Cell:
    """One cell of the screen; the right half of a wide character has an empty text."""

    text: str = " "
    attribute: int = 0


@dataclass
class Screen:
    """The grid of cells as of the last flush."""

    width: int = 0
    height: int = 0
    cells: list[list[Cell]] = field(default_factory=list)
    attributes: dict[int, dict[str, Any]] = field(default_factory=dict)
    colours: dict[str, int] = field(default_factory=lambda: {"foreground": 0xFFFFFF, "background": 0})
    cursor: tuple[int, int] = (0, 0)

    def redraw(self, batches: list[Any]) -> None:
        """Apply the events of one `redraw` notification."""
        for name, *calls in batches:
            handle = getattr(self, f"_{name}", None)
            for arguments in calls if handle else ():
                handle(*arguments)

    def lines(self) -> list[str]:
        """Return the text of each row."""
        return ["".join(cell.text for cell in row).rstrip() for row in self.cells]

    def text(self) -> str:
        """Return the text of the whole screen."""
        return "\n".join(self.lines())

    def colour_of(self, cell: Cell) -> tuple[int, int, dict[str, Any]]:
        """Return the foreground, the background and all attributes of a cell."""
        attribute = self.attributes.get(cell.attribute, {})
        foreground = attribute.get("foreground", self.colours["foreground"])
        background = attribute.get("background", self.colours["background"])
        reverse = attribute.get("reverse")
        return (background, foreground, attribute) if reverse else (foreground, background, attribute)

    def _grid_resize(self, grid: int, width: int, height: int) -> None:
        old = self.cells
        self.width, self.height = width, height
        self.cells = [[Cell() for _ in range(width)] for _ in range(height)]
        for row, line in zip(self.cells, old, strict=False):
            row[: min(width, len(line))] = line[:width]

    def _grid_clear(self, grid: int) -> None:
        self.cells = [[Cell() for _ in range(self.width)] for _ in range(self.height)]

    def _grid_line(self, grid: int, row: int, column: int, cells: list[Any], wrap: bool = False) -> None:
        attribute = 0
        for text, *more in cells:
            attribute = more[0] if more else attribute
            for _ in range(more[1] if len(more) > 1 else 1):
                self.cells[row][column] = Cell(text, attribute)
                column += 1

    def _grid_scroll(self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, columns: int) -> None:
        order = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in order:
            self.cells[row][left:right] = [Cell(c.text, c.attribute) for c in self.cells[row + rows][left:right]]

    def _grid_cursor_goto(self, grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _hl_attr_define(self, number: int, rgb: dict[str, Any], cterm: Any, info: Any) -> None:
        self.attributes[number] = rgb

    def _default_colors_set(self, foreground: int, background: int, special: int, *_: Any) -> None:
        self.colours = {"foreground": foreground, "background": background}
