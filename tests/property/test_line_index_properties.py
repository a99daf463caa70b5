"""LineIndex: positions and offsets round-trip in every encoding, and every position maps into the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.util.text.positions import LineIndex

TEXT = st.text(st.sampled_from("ab @#\n\r\t\u00e9\u4e16\U0001f600\u2028\udc80"), max_size=60)
ENCODING = st.sampled_from(["utf-8", "utf-16", "utf-32"])


@given(TEXT, ENCODING, st.data())
def test_offset_round_trips_through_position(text: str, encoding: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n" and offset:
        return  # no position lies between the two characters of one line end
    lines = LineIndex(text, encoding)
    line, character = lines.position(offset)
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    assert line == before.count("\n")
    codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    assert character == len(before.rsplit("\n", 1)[-1].encode(codec, "surrogatepass")) // width
    assert lines.offset(line, character) == offset


@given(TEXT, ENCODING, st.integers(-3, 30), st.integers(-3, 200))
def test_every_position_maps_into_the_text(text: str, encoding: str, line: int, character: int) -> None:
    lines = LineIndex(text, encoding)
    offset = lines.offset(line, character)
    assert 0 <= offset <= len(text)
    assert lines.offset(*lines.position(offset)) == offset
