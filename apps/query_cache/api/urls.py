"""Addresses of the REST interface of the query cache, below /api/v1/."""

from django.urls import path

from apps.query_cache.api import cache, calculators, tables, warm_up

urlpatterns = [
    path("query-cache/published/", cache.PublishedView.as_view(), name="api-cache-published"),
    path("clusters/<slug:slug>/cache/", cache.CacheView.as_view(), name="api-cache"),
    path("clusters/<slug:slug>/cache/calibrations/", cache.CalibrationsView.as_view(), name="api-calibrations"),
    path("clusters/<slug:slug>/cache/warm-up/", warm_up.ForecastView.as_view(), name="api-cache-warm-up"),
    path("clusters/<slug:slug>/cache/tables/", tables.TablesView.as_view(), name="api-cache-tables"),
    path("clusters/<slug:slug>/cache/tables/survey/", tables.TableSurveyView.as_view(), name="api-cache-tables-survey"),
    path("calculators/break-even/", calculators.BreakEvenView.as_view(), name="api-break-even"),
    path("calculators/warm-up/", calculators.WarmUpView.as_view(), name="api-warm-up"),
]
