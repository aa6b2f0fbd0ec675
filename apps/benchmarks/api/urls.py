"""Addresses of the REST interface of benchmarks, below /api/v1/."""

from django.urls import path

from apps.benchmarks.api import calculators

urlpatterns = [
    path("calculators/compare/", calculators.CompareView.as_view(), name="api-compare"),
    path("calculators/sanity/", calculators.SanityView.as_view(), name="api-sanity"),
]
