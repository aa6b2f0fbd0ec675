"""Pages of benchmarks, below /o/<organisation>/."""

from django.urls import path

from apps.benchmarks.views import access, comparisons, run_list, run_start, runs

urlpatterns = [
    path("benchmarks/", run_list.run_list, name="run-list"),
    path("benchmarks/new/", run_start.run_start, name="run-start"),
    path("benchmarks/runs/<int:pk>/", runs.run_detail, name="run"),
    path("benchmarks/runs/<int:pk>/now/", runs.run_now, name="run-now"),
    path("benchmarks/runs/<int:pk>/stop/", runs.run_stop, name="run-stop"),
    path("benchmarks/comparisons/", comparisons.comparison_list, name="comparison-list"),
    path("benchmarks/comparisons/<int:pk>/", comparisons.comparison_detail, name="comparison"),
    path("benchmarks/comparisons/<int:pk>/now/", comparisons.comparison_now, name="comparison-now"),
    path("benchmarks/comparisons/<int:pk>/comparison.csv", comparisons.comparison_csv, name="comparison-csv"),
    path("benchmarks/comparisons/<int:pk>/comparison.json", comparisons.comparison_json, name="comparison-json"),
    path("benchmarks/comparisons/<int:pk>/stop/", comparisons.comparison_stop, name="comparison-stop"),
    path("clusters/<slug:slug>/benchmarks/allow/", access.benchmark_access, name="benchmark-access"),
]
