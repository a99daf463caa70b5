"""Coverage-guided fuzzing of one target: python run.py TARGET SECONDS.

Inputs that reach new code are kept in /tmp/promptls-fuzz/TARGET between runs. A failing input is written to
tests/strength/cases/TARGET and becomes part of every test run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER)]

with atheris.instrument_imports(include=["promptls"]):
    import targets


def main() -> None:
    """Fuzz until the time is over or an input fails."""
    name, seconds = sys.argv[1], sys.argv[2]
    target = targets.TARGETS[name]
    corpus = Path(tempfile.gettempdir()) / "promptls-fuzz" / name
    cases = FOLDER.parent / "cases" / name
    for folder in (corpus, cases):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(targets.seeds(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={cases}/", "-max_len=4096", "-timeout=30", "-rss_limit_mb=4000",
               "-print_final_stats=1", "-verbosity=1"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: targets.run_timed(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
