"""Sample texts for the token estimate, by class: every script of Unicode, and ASCII text that is neither code nor prose."""

from __future__ import annotations

import base64
import random
import re
import string
import unicodedata
from collections.abc import Iterator
from pathlib import Path

LAST_CODE_POINT = 0x323AF
"""The last code point of the planes with assigned characters, apart from tags and private use."""

MIN_SCRIPT_CHARACTERS = 16
SIZES = (5, 20, 40, 80, 200, 600)
"""Lengths of the generated samples in characters."""

SYMBOLS = string.punctuation
ALPHABETS = {
    "symbols": SYMBOLS,
    "symbols of the digit row": "!@#$%^&*()",
    "operators": "+-*/%=<>!&|^~",
    "brackets": "(){}[]<>",
    "brainf": "+-<>[].,",
    "quotes": "'\"`",
    "ASCII art, dense": " .:-=+*#%@",
    "ASCII art, lines": "/\\|_-() \n",
    "symbols and spaces": SYMBOLS + " " * 6,
    "Morse code": ".- ",
    "letters": string.ascii_letters,
    "lower-case letters": string.ascii_lowercase,
    "upper-case letters": string.ascii_uppercase,
    "letters and digits": string.ascii_letters + string.digits,
    "base32": string.ascii_uppercase + "234567",
    "base85": string.ascii_letters + string.digits + SYMBOLS,
    "hexadecimal": "0123456789abcdef",
    "digits": string.digits,
    "binary": "01",
    "white space": " \t\r\n\x0b\x0c",
    "control characters": "".join(map(chr, range(1, 32))),
}


def scripts() -> dict[str, list[str]]:
    """Return the characters outside of ASCII by the first word of their Unicode names: the script or kind of symbol."""
    found: dict[str, list[str]] = {}
    for code in range(0x80, LAST_CODE_POINT + 1):
        name = unicodedata.name(chr(code), "")
        if name:
            found.setdefault(name.split()[0], []).append(chr(code))
    found["private use"] = [chr(code) for code in range(0xE000, 0xF900)]
    found["tags"] = [chr(code) for code in range(0xE0020, 0xE007F)]
    return {name: characters for name, characters in found.items() if len(characters) >= MIN_SCRIPT_CHARACTERS}


def generated(seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield (class, text): random strings of each script and of each ASCII alphabet, marks, emoji and encodings."""
    chosen = random.Random(seed)
    for name, characters in scripts().items():
        for size in SIZES:
            yield name, "".join(chosen.choices(characters, k=size))
            yield name, " ".join("".join(chosen.choices(characters, k=chosen.randint(2, 8))) for _ in range(size // 5))
    for name, alphabet in ALPHABETS.items():
        for size in SIZES[1:]:
            yield name, "".join(chosen.choices(alphabet, k=size))
    marks = {
        "letters with combining marks": (string.ascii_letters, range(0x300, 0x36F)),
        "pointed Hebrew": ("".join(map(chr, range(0x5D0, 0x5EB))), range(0x5B0, 0x5BD)),
        "vowelled Arabic": ("".join(map(chr, range(0x627, 0x64B))), range(0x64B, 0x653)),
    }
    for name, (letters, points) in marks.items():
        for size in SIZES:
            count = chosen.randint(1, 4) if name.startswith("letters") else 1
            mixed = ((chosen.choice(letters), "".join(map(chr, chosen.choices(points, k=count)))) for _ in range(size))
            yield name, "".join(letter + mark for letter, mark in mixed)
    people = [chr(code) for code in (*range(0x1F466, 0x1F479), *range(0x1F645, 0x1F64F))]
    for size in SIZES:
        joined = (
            "\u200d".join(chosen.choices(people, k=3)) + chr(0x1F3FB + n % 5) + "\ufe0f" for n in range(size // 5)
        )
        yield "emoji sequences", "".join(joined)
        yield "flags", "".join(chr(0x1F1E6 + chosen.randrange(26)) for _ in range(2 * size))
        yield "base64", base64.b64encode(chosen.randbytes(max(15, size))).decode()
        yield "base64 for URLs", base64.urlsafe_b64encode(chosen.randbytes(max(15, size))).decode()
    for symbol in string.printable:
        for size in (7, 30, 150, 1000):
            yield "one character repeated", symbol * size
    for first in SYMBOLS[::2]:
        for second in SYMBOLS[1::3]:
            yield "two symbols repeated", (first + second) * 40


def translations(folder: Path, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield (language, text) of the gettext catalogues under a folder, such as those of Django."""
    chosen = random.Random(seed)
    for path in sorted(folder.rglob("*.po")):
        if path.parent.name == "LC_MESSAGES":
            texts = re.findall(r'^msgstr(?:\[\d\])? "(.+)"$', path.read_text("utf-8"), re.M)
            chosen.shuffle(texts)
            text = " ".join(texts).replace("\\n", "\n").replace('\\"', '"')[:900]
            if len(text) > 300:
                yield path.parent.parent.name, text
