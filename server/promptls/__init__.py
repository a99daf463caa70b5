"""promptls: the prompt language server."""

import os

# One thread a product of matrices: they are small, and threads that wait for each other on a busy machine cost tenfold.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
