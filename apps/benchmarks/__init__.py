"""Benchmarks: runs and campaigns of pgbench, sysbench and messaging workloads on registered clusters, compared with
their noise. Here will live the stories `runs.py` and `campaigns.py`, one file per load generator under `drivers/`, and
the arithmetic (parsers of their output, statistics, break-even of the query cache) under `domain/`.
"""
