"""promptls: the prompt language server."""

import os

# One thread a product of matrices: they are small, and threads that wait for each other on a busy machine cost tenfold.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# ONNX Runtime (since 1.29) and the client of model hubs report on their users unless they are told not to, before they
# are loaded; every process of ours, whatever it loads, passes here first.
os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1")

__version__ = "0.1.0"
