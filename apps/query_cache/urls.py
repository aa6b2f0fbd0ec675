"""Pages of the query cache, below /o/<organisation>/."""

from django.urls import path

from apps.query_cache.views import cache, tables, warm_up

urlpatterns = [
    path("clusters/<slug:slug>/cache/", cache.cluster_cache, name="cluster-cache"),
    path("clusters/<slug:slug>/cache/now/", cache.cluster_cache_now, name="cluster-cache-now"),
    path("clusters/<slug:slug>/cache/warm-up/", warm_up.cluster_cache_warm_up, name="cluster-cache-warm-up"),
    path("clusters/<slug:slug>/cache/tables/", tables.cluster_cache_tables, name="cluster-cache-tables"),
    path(
        "clusters/<slug:slug>/cache/tables/survey/",
        tables.cluster_cache_tables_survey,
        name="cluster-cache-tables-survey",
    ),
    path("clusters/<slug:slug>/cache/published/", cache.cluster_cache_published, name="cluster-cache-published"),
]
