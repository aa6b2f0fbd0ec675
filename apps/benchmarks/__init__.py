"""Benchmarks: runs, comparisons and campaigns of pgbench, sysbench, messaging and TPC-C-like loads on registered
clusters, told with their noise. One load generator each stands under `drivers/`; parsers of what they print, statistics
and verdicts are `domain/`.
"""
