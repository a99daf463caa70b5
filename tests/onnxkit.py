"""Small embedding models of any dimension in ONNX format.

A model has a vector for each token, reduced by maximum, and the tokenizer of the bundled model. The protocol buffer
messages of ONNX are written directly, because the onnx package would be a large dependency for sixty lines.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from promptls.index.embedding.embedder import BUNDLED_MODEL_DIR

FLOAT, INT64 = 1, 7


def write_model(folder: Path, dimension: int, seed: int = 1) -> Path:
    """Write a model of a dimension to a folder; the seed determines its vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(BUNDLED_MODEL_DIR / name, folder / name)
    vocabulary_size = len(json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    table = np.random.default_rng(seed).standard_normal((vocabulary_size, dimension)).astype(np.float32)
    table[0] = -9  # padding tokens never hold the maximum
    (folder / "model.onnx").write_bytes(_model(table))
    (folder / "config.json").write_text('{"pad_token_id": 0, "model_type": "static"}')
    return folder


def _model(table: np.ndarray) -> bytes:
    gather = _node("Gather", ["table", "input_ids"], ["tokens"])
    maximum = _node("ReduceMax", ["tokens"], ["vector"], _attribute("axes", 1) + _attribute_int("keepdims", 0))
    inputs = ("input_ids", "attention_mask")
    return _graph([gather, maximum], {"table": table}, inputs, "vector", ["B", table.shape[1]])


def _graph(
    nodes: Sequence[bytes], constants: dict[str, np.ndarray], inputs: Sequence[str], output: str, shape: list[str | int]
) -> bytes:
    graph = b"".join(_message(1, node) for node in nodes) + _text(2, "graph")
    for name, array in constants.items():
        sizes = b"".join(_number(1, size) for size in array.shape)
        graph += _message(5, sizes + _number(2, FLOAT) + _text(8, name) + _bytes(9, array.tobytes()))
    for name in inputs:
        graph += _message(11, _value(name, INT64, ["B", "L"]))
    graph += _message(12, _value(output, FLOAT, shape))
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
