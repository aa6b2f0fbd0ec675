"""Tables of benchmarks: who may load a cluster, endpoints, runs, comparisons, campaigns, imports."""

from apps.benchmarks.models.access import BenchmarkAccess
from apps.benchmarks.models.campaign import BenchmarkCampaign, CampaignRound
from apps.benchmarks.models.comparison import BenchmarkComparison, ComparisonRun
from apps.benchmarks.models.endpoint import BenchmarkEndpoint
from apps.benchmarks.models.imported import BenchmarkImport
from apps.benchmarks.models.run import BenchmarkRun, RunOutput, RunSample

__all__ = [
    "BenchmarkAccess",
    "BenchmarkCampaign",
    "BenchmarkComparison",
    "BenchmarkEndpoint",
    "BenchmarkImport",
    "BenchmarkRun",
    "CampaignRound",
    "ComparisonRun",
    "RunOutput",
    "RunSample",
]
