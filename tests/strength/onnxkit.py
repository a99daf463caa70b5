"""A small embedding model of any dimension, written byte by byte: a table of vectors by token, of which it takes the
largest numbers.

The file is ONNX's protocol buffers, of which the few messages that are needed are written by hand: a dependency on
the onnx package would be a large one for thirty lines.  The tokenizer is the bundled model's.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from promptls.index.embedding.embedder import BUNDLED_MODEL_DIR

FLOAT, INT64 = 1, 7


def write_model(folder: Path, dimension: int, seed: int = 1) -> Path:
    """A folder with a model of this dimension; another seed makes other vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(BUNDLED_MODEL_DIR / name, folder / name)
    words = len(json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    table = np.random.default_rng(seed).standard_normal((words, dimension)).astype(np.float32)
    table[0] = -9  # what fills up the shorter texts of a batch is never the largest
    (folder / "model.onnx").write_bytes(_model(table))
    (folder / "config.json").write_text('{"pad_token_id": 0, "model_type": "static"}')
    return folder


def _model(table: np.ndarray) -> bytes:
    gather = _node("Gather", ["table", "input_ids"], ["tokens"])
    most = _node("ReduceMax", ["tokens"], ["vector"], _attribute("axes", 1) + _attribute_int("keepdims", 0))
    held = _number(1, table.shape[0]) + _number(1, table.shape[1]) + _number(2, FLOAT) + _text(8, "table")
    graph = _message(1, gather) + _message(1, most) + _text(2, "most") + _message(5, held + _bytes(9, table.tobytes()))
    for name in ("input_ids", "attention_mask"):
        graph += _message(11, _value(name, INT64, ["B", "L"]))
    graph += _message(12, _value("vector", FLOAT, ["B", table.shape[1]]))
    return _number(1, 8) + _message(7, graph) + _message(8, _text(1, "") + _number(2, 13))


def _node(kind: str, inputs: list[str], outputs: list[str], attributes: bytes = b"") -> bytes:
    return b"".join(_text(1, i) for i in inputs) + b"".join(_text(2, o) for o in outputs) + _text(4, kind) + attributes


def _attribute(name: str, *numbers: int) -> bytes:
    return _message(5, _text(1, name) + b"".join(_number(8, n) for n in numbers) + _number(20, 7))


def _attribute_int(name: str, number: int) -> bytes:
    return _message(5, _text(1, name) + _number(3, number) + _number(20, 2))


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    sizes = b"".join(_message(1, _number(1, s) if isinstance(s, int) else _text(2, s)) for s in shape)
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _message(field: int, value: bytes) -> bytes:
    return _bytes(field, value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
