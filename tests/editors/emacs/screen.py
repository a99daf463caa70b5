"""A terminal emulator that runs a program: send keys, read the screen, wait for text and take screenshots.

The screen is emulated by pyte. Screenshots draw its cells and their colours.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path

import pyte
from PIL import Image, ImageDraw, ImageFont

COLUMNS, ROWS = 132, 38
CELL = (9, 18)
FONTS = Path("/usr/share/fonts/truetype/dejavu")
NAMED = {
    "black": "#000000",
    "red": "#ff6e6e",
    "green": "#5fd35f",
    "brown": "#e5c07b",
    "blue": "#6aa6f8",
    "magenta": "#c792ea",
    "cyan": "#76c7c0",
    "white": "#d8d8d8",
}
PRIVATE = re.compile(rb"\x1b\[[>=][0-9;]*[A-Za-z]")
"""Private control sequences. pyte ignores the prefix and interprets them as standard sequences."""
INCOMPLETE = re.compile(rb"\x1b(\[[^A-Za-z@~]*)?$")


class ScreenTimeout(AssertionError):
    """The screen did not match in time; the message contains the screen."""


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.pending = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds: float) -> bool:
        """Read output of the program for at most `seconds`; return False if it has exited."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        data = self.pending + data
        incomplete = INCOMPLETE.search(data)
        self.pending = data[incomplete.start() :] if incomplete else b""
        self.stream.feed(PRIVATE.sub(b"", data[: len(data) - len(self.pending)]))
        return bool(data)

    def text(self) -> str:
        """Return the text of the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, keys: str) -> None:
        """Send keys one by one and read output after each."""
        for key in re.findall(r"\x1b?.", keys, re.DOTALL):
            os.write(self.fd, key.encode())
            self.read(0.02)

    def click(self, text: str) -> None:
        """Wait for a text on the screen and click on its first occurrence."""
        self.wait(re.escape(text))
        row, line = next((n, line) for n, line in enumerate(self.screen.display, 1) if text in line)
        column = line.index(text) + 2
        self.type("".join(f"\x1b[<0;{column};{row}{change}" for change in "Mm"))

    def wait(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        """Wait until the screen matches `pattern`; raise ScreenTimeout after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            if match := re.search(pattern, self.text(), re.MULTILINE):
                return match
            if time.monotonic() > end or not self.read(0.05):
                raise ScreenTimeout(f"no {pattern!r} on the screen:\n{self.text()}")

    def wait_until_gone(self, pattern: str, seconds: float = 60) -> None:
        """Wait until the screen no longer matches `pattern`; raise ScreenTimeout after `seconds`."""
        end = time.monotonic() + seconds
        while re.search(pattern, self.text(), re.MULTILINE):
            if time.monotonic() > end or not self.read(0.05):
                raise ScreenTimeout(f"still {pattern!r} on the screen:\n{self.text()}")

    def wait_until_idle(self) -> None:
        """Read output until there is none for 0.3 s, for at most two seconds."""
        end = time.monotonic() + 2
        while time.monotonic() < end and select.select([self.fd], [], [], 0.3)[0]:
            self.read(0)

    def close(self) -> None:
        """Kill the program."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)

    def screenshot(self, file: Path) -> None:
        """Save a screenshot as a PNG file."""
        self.wait_until_idle()
        width, height = CELL
        regular = ImageFont.truetype(str(FONTS / "DejaVuSansMono.ttf"), 15)
        bold = ImageFont.truetype(str(FONTS / "DejaVuSansMono-Bold.ttf"), 15)
        image = Image.new("RGB", (COLUMNS * width, ROWS * height), "#000000")
        draw = ImageDraw.Draw(image)
        for row in range(ROWS):
            for column in range(COLUMNS):
                cell = self.screen.buffer[row][column]
                fore, back = _colour(cell.fg, "#ffffff"), _colour(cell.bg, "#000000")
                if cell.reverse:
                    fore, back = back, fore
                if (row, column) == (self.screen.cursor.y, self.screen.cursor.x) and not self.screen.cursor.hidden:
                    fore, back = "#000000", "#ffffff"
                x, y = column * width, row * height
                draw.rectangle((x, y, x + width - 1, y + height - 1), fill=back)
                if cell.data in "█░":  # drawn as rectangles, because glyphs leave gaps
                    shade = fore if cell.data == "█" else _blend(fore, back)
                    draw.rectangle((x, y + 3, x + width - 1, y + height - 4), fill=shade)
                elif cell.data.strip():
                    draw.text((x, y), cell.data, font=bold if cell.bold else regular, fill=fore)
                if cell.underscore:
                    draw.line((x, y + height - 2, x + width - 1, y + height - 2), fill=fore)
        file.parent.mkdir(parents=True, exist_ok=True)
        image.save(file, optimize=True)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    name = name.removeprefix("bright")
    return NAMED.get(name) or f"#{name}"


def _blend(fore: str, back: str) -> str:
    pairs = zip(bytes.fromhex(fore[1:]), bytes.fromhex(back[1:]), strict=True)
    return "#" + "".join(f"{(f + 2 * b) // 3:02x}" for f, b in pairs)
