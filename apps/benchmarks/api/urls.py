"""Addresses of the REST interface of benchmarks, below /api/v1/."""

from django.urls import path

from apps.benchmarks.api import calculators, campaigns, comparisons, endpoints, imports, runs

urlpatterns = [
    path("benchmarks/runs/", runs.RunsView.as_view(), name="api-runs"),
    path("benchmarks/runs/<int:pk>/", runs.RunView.as_view(), name="api-run"),
    path("benchmarks/runs/<int:pk>/course/", runs.CourseView.as_view(), name="api-run-course"),
    path("benchmarks/runs/<int:pk>/stop/", runs.StopRunView.as_view(), name="api-run-stop"),
    path("benchmarks/comparisons/", comparisons.ComparisonsView.as_view(), name="api-comparisons"),
    path(
        "benchmarks/comparisons/<int:pk>/courses/",
        comparisons.ComparisonCoursesView.as_view(),
        name="api-comparison-courses",
    ),
    path("benchmarks/comparisons/<int:pk>/", comparisons.ComparisonView.as_view(), name="api-comparison"),
    path("benchmarks/comparisons/<int:pk>/stop/", comparisons.StopComparisonView.as_view(), name="api-comparison-stop"),
    path("benchmarks/imports/", imports.ImportsView.as_view(), name="api-imports"),
    path("benchmarks/imports/examples/", imports.ExamplesView.as_view(), name="api-import-examples"),
    path("benchmarks/imports/<int:pk>/", imports.ImportView.as_view(), name="api-import"),
    path("benchmarks/campaigns/", campaigns.CampaignsView.as_view(), name="api-campaigns"),
    path("benchmarks/campaigns/<int:pk>/", campaigns.CampaignView.as_view(), name="api-campaign"),
    path("benchmarks/campaigns/<int:pk>/rounds/", campaigns.CampaignRoundsView.as_view(), name="api-campaign-rounds"),
    path("clusters/<slug:slug>/benchmarks/", runs.AccessView.as_view(), name="api-cluster-benchmarks"),
    path("clusters/<slug:slug>/endpoints/", endpoints.EndpointsView.as_view(), name="api-endpoints"),
    path("clusters/<slug:slug>/endpoints/<str:name>/", endpoints.EndpointView.as_view(), name="api-endpoint"),
    path(
        "clusters/<slug:slug>/endpoints/<str:name>/try/", endpoints.TryEndpointView.as_view(), name="api-endpoint-try"
    ),
    path("calculators/compare/", calculators.CompareView.as_view(), name="api-compare"),
    path("calculators/sanity/", calculators.SanityView.as_view(), name="api-sanity"),
]
