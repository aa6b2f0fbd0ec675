"""Tables of benchmarks: who may load a cluster and how hard, runs, what they measured, and what is compared."""

from apps.benchmarks.models.access import BenchmarkAccess
from apps.benchmarks.models.comparison import BenchmarkComparison, ComparisonRun
from apps.benchmarks.models.run import BenchmarkRun, RunOutput, RunSample

__all__ = ["BenchmarkAccess", "BenchmarkComparison", "BenchmarkRun", "ComparisonRun", "RunOutput", "RunSample"]
