"""Training step `export`: table and weights → the folder of the model.

The table is stored as int8 with one scale per row, the factor of the token. The graph adds up the rows of tokens by
factor · mask. The mask is a weight of any scale; promptls passes √count · mean place weight of distinct tokens
(`promptls.index.embedding.embedder.token_weights`), with the places of config.json.  With an ordinary mask, as
fastembed passes it, all occurrences have the same weight. The tokenizer is that of the training.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.collect import packages
from training.prepare import PAD, UNKNOWN

WINDOW = 256  # maximum number of tokens of a text


def export(work: Path, trained: Sequence[Path], out: Path) -> None:
    """Write the files of the model and the list of training packages into `out`; several runs are averaged."""
    out.mkdir(parents=True, exist_ok=True)
    table, places = mean(trained)
    onnx.save(_graph(table), str(out / "model.onnx"))
    shutil.copyfile(work / "tokenizer.json", out / "tokenizer.json")
    special = {"pad_token": PAD, "unk_token": UNKNOWN}
    settings = {
        "model_max_length": WINDOW,
        "max_length": WINDOW,
        **special,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings))
    (out / "special_tokens_map.json").write_text(json.dumps(special))
    config = {"pad_token_id": 0, "model_type": "static", "dimension": table.shape[1], "pooled": True}
    (out / "config.json").write_text(json.dumps({**config, "places": [round(float(place), 7) for place in places]}))
    rows = ["kind\tname\tversion\tlicence, as the package declares it"]
    rows += ["\t".join(p[1:]) for p in packages() if p.role == "train"]
    (out / "LICENCES.tsv").write_text("\n".join(rows) + "\n", "utf-8")


def mean(trained: Sequence[Path]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (weighted table, place weights): the mean of runs with the same initial table, at a common scale."""
    tables, places = [], []
    for file in trained:
        with np.load(file) as arrays:
            table = arrays["table"] * arrays["weights"][:, None]
            tables.append(table / np.linalg.norm(table, axis=1).mean())
            places.append(arrays["places"] / arrays["places"].mean())
    return np.mean(tables, axis=0), np.mean(places, axis=0)


def quantised(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return (int8 rows, scale of each row)."""
    scale = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    return np.round(table / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _graph(table: NDArray[np.float32]) -> onnx.ModelProto:
    rows, scale = quantised(table)
    factor = scale.copy()
    factor[:2] = 0  # padding and unknown tokens
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["rows8"], axis=0),
        node("Cast", ["rows8"], ["rows"], to=TensorProto.FLOAT),
        node("Gather", ["factor", "input_ids"], ["known"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Mul", ["known", "mask"], ["weight"]),
        node("Unsqueeze", ["weight", "one"], ["weights"]),
        node("MatMul", ["weights", "rows"], ["sum3"]),
        node("Squeeze", ["sum3", "one"], ["sum"]),
        node("ReduceL2", ["sum", "last"], ["length0"], keepdims=1),
        node("Max", ["length0", "least"], ["length"]),
        node("Div", ["sum", "length"], ["sentence_embedding"]),
    ]
    constants = {
        "table": rows,
        "factor": factor,
        "one": np.array([1], np.int64),
        "last": np.array([-1], np.int64),
        "least": np.array(1e-9, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "static",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "L"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["B", table.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="promptls")
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model
