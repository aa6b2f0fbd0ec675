"""Tables of benchmarks: who may load a cluster and how hard, runs and what they measured, comparisons, imports."""

from apps.benchmarks.models.access import BenchmarkAccess
from apps.benchmarks.models.comparison import BenchmarkComparison, ComparisonRun
from apps.benchmarks.models.imported import BenchmarkImport
from apps.benchmarks.models.run import BenchmarkRun, RunOutput, RunSample

__all__ = [
    "BenchmarkAccess",
    "BenchmarkComparison",
    "BenchmarkImport",
    "BenchmarkRun",
    "ComparisonRun",
    "RunOutput",
    "RunSample",
]
