"""Addresses of the REST interface of the query cache, below /api/v1/."""

from django.urls import path

from apps.query_cache.api import calculators

urlpatterns = [
    path("calculators/break-even/", calculators.BreakEvenView.as_view(), name="api-break-even"),
    path("calculators/warm-up/", calculators.WarmUpView.as_view(), name="api-warm-up"),
]
