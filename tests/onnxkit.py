"""Small models in ONNX format: embedding models of any dimension, and a reranker that counts shared words.

An embedding model has a vector for each token, reduced by maximum, and the tokenizer of the bundled model. The reranker has
a tokenizer of whole words. The protocol buffer messages of ONNX are written directly, because the onnx package would be a
large dependency for sixty lines.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

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


SPECIAL_TOKENS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
"""Their positions are the token ids."""


def write_cross_encoder(folder: Path, words: Sequence[str]) -> Path:
    """Write a cross-encoder whose score is the number of different `words` that query and text share."""
    table = _write_word_tokenizer(folder, words)
    nodes = [
        _node("Gather", ["table", "input_ids"], ["tokens"]),
        _node("Cast", ["token_type_ids"], ["types"], _attribute_int("to", FLOAT)),
        _node("Einsum", ["tokens"], ["all"], _attribute_text("equation", "blv->bv")),
        _node("Einsum", ["tokens", "types"], ["text"], _attribute_text("equation", "blv,bl->bv")),
        _node("Sub", ["all", "text"], ["query"]),
        _node("Sign", ["text"], ["in_text"]),
        _node("Sign", ["query"], ["in_query"]),
        _node("Einsum", ["in_text", "in_query", "ones"], ["shared"], _attribute_text("equation", "bv,bv,vk->bk")),
    ]
    constants = {"table": table, "ones": np.ones((len(words), 1), np.float32)}
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    (folder / "model.onnx").write_bytes(_graph(nodes, constants, inputs, "shared", ["B", 1]))
    return folder


def _write_word_tokenizer(folder: Path, words: Sequence[str]) -> np.ndarray:
    """Write a tokenizer for `words`; return a table with a unit vector per word and zeros for other tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: i for i, token in enumerate([*SPECIAL_TOKENS, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    markers = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", markers)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512, "pad_token": "[PAD]"}')
    (folder / "special_tokens_map.json").write_text(json.dumps({"mask_token": "[MASK]", "pad_token": "[PAD]"}))
    (folder / "config.json").write_text('{"pad_token_id": 0}')
    table = np.zeros((len(vocabulary), len(words)), np.float32)
    table[len(SPECIAL_TOKENS) :] = np.eye(len(words))
    return table


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


def _attribute_text(name: str, text: str) -> bytes:
    return _message(5, _text(1, name) + _text(4, text) + _number(20, 3))


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
