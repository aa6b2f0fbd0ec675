"""Pages of benchmarks, below /o/<organisation>/."""

from django.urls import path

from apps.benchmarks.views import (
    access,
    campaigns,
    comparison_pick,
    comparison_start,
    comparisons,
    endpoints,
    imports,
    run_list,
    run_start,
    runs,
)

urlpatterns = [
    path("benchmarks/", run_list.run_list, name="run-list"),
    path("benchmarks/new/", run_start.run_start, name="run-start"),
    path("benchmarks/runs/<int:pk>/", runs.run_detail, name="run"),
    path("benchmarks/runs/<int:pk>/now/", runs.run_now, name="run-now"),
    path("benchmarks/runs/<int:pk>/stop/", runs.run_stop, name="run-stop"),
    path("benchmarks/comparisons/", comparisons.comparison_list, name="comparison-list"),
    path("benchmarks/comparisons/new/", comparison_start.comparison_start, name="comparison-new"),
    path("benchmarks/comparisons/pick/", comparison_pick.comparison_pick, name="comparison-pick"),
    path("benchmarks/comparisons/new/outlook/", comparison_start.comparison_outlook, name="comparison-outlook"),
    path("benchmarks/campaigns/", campaigns.campaign_list, name="campaign-list"),
    path("benchmarks/campaigns/new/", comparison_start.campaign_start, name="campaign-new"),
    path("benchmarks/campaigns/<int:pk>/", campaigns.campaign_detail, name="campaign"),
    path("benchmarks/campaigns/<int:pk>/pause/", campaigns.campaign_pause, name="campaign-pause"),
    path("benchmarks/campaigns/<int:pk>/resume/", campaigns.campaign_resume, name="campaign-resume"),
    path("benchmarks/campaigns/<int:pk>/begin/", campaigns.campaign_begin, name="campaign-begin"),
    path("benchmarks/campaigns/<int:pk>/remove/", campaigns.campaign_remove, name="campaign-remove"),
    path("benchmarks/imports/", imports.import_list, name="import-list"),
    path("benchmarks/imports/<int:pk>/", imports.import_detail, name="import"),
    path("benchmarks/imports/<int:pk>/remove/", imports.import_remove, name="import-remove"),
    path("benchmarks/comparisons/<int:pk>/", comparisons.comparison_detail, name="comparison"),
    path("benchmarks/comparisons/<int:pk>/now/", comparisons.comparison_now, name="comparison-now"),
    path("benchmarks/comparisons/<int:pk>/comparison.csv", comparisons.comparison_csv, name="comparison-csv"),
    path("benchmarks/comparisons/<int:pk>/comparison.json", comparisons.comparison_json, name="comparison-json"),
    path("benchmarks/comparisons/<int:pk>/stop/", comparisons.comparison_stop, name="comparison-stop"),
    path("clusters/<slug:slug>/benchmarks/allow/", access.benchmark_access, name="benchmark-access"),
    path("clusters/<slug:slug>/benchmarks/endpoints/", endpoints.endpoint_list, name="endpoint-list"),
    path("clusters/<slug:slug>/benchmarks/endpoints/<int:pk>/", endpoints.endpoint_change, name="endpoint-change"),
    path(
        "clusters/<slug:slug>/benchmarks/endpoints/<int:pk>/remove/", endpoints.endpoint_remove, name="endpoint-remove"
    ),
    path("clusters/<slug:slug>/benchmarks/endpoints/<int:pk>/try/", endpoints.endpoint_try, name="endpoint-try"),
]
