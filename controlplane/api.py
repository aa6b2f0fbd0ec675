"""Mounts the REST interfaces of all applications under /api/v1/."""

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(), name="api-schema"),
    path("", include("apps.accounts.api_urls")),
    path("", include("apps.clusters.api.urls")),
    path("", include("apps.benchmarks.api.urls")),
    path("", include("apps.query_cache.api.urls")),
]
