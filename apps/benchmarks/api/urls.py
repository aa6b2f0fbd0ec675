"""Addresses of the REST interface of benchmarks, below /api/v1/."""

from django.urls import path

from apps.benchmarks.api import calculators, runs

urlpatterns = [
    path("benchmarks/runs/", runs.RunsView.as_view(), name="api-runs"),
    path("benchmarks/runs/<int:pk>/", runs.RunView.as_view(), name="api-run"),
    path("benchmarks/runs/<int:pk>/stop/", runs.StopRunView.as_view(), name="api-run-stop"),
    path("clusters/<slug:slug>/benchmarks/", runs.AccessView.as_view(), name="api-cluster-benchmarks"),
    path("calculators/compare/", calculators.CompareView.as_view(), name="api-compare"),
    path("calculators/sanity/", calculators.SanityView.as_view(), name="api-sanity"),
]
