"""Helper processes: their pool, messages and memory settings, the worker process, and queries that workers answer.

`pool.WorkerPool` is the interface for the server, and `worker` the main module of a worker process.
"""
