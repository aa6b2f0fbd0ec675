"""Tables of benchmarks: who may load a cluster and how hard, runs, and what they measured."""

from apps.benchmarks.models.access import BenchmarkAccess
from apps.benchmarks.models.run import BenchmarkRun, RunOutput, RunSample

__all__ = ["BenchmarkAccess", "BenchmarkRun", "RunOutput", "RunSample"]
