"""Where every address leads. Pages of an organisation begin with /o/<organisation>/."""

from django.urls import include, path

from controlplane import health, home

urlpatterns = [
    path("", home.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("accounts/", include("apps.accounts.urls")),
    path("api/v1/", include("controlplane.api")),
    path("o/<slug:organisation>/", include("apps.accounts.organisation_urls")),
    path("o/<slug:organisation>/", include("apps.fleet.urls")),
    path("o/<slug:organisation>/", include("apps.clusters.urls")),
    path("o/<slug:organisation>/", include("apps.benchmarks.urls")),
    path("o/<slug:organisation>/", include("apps.query_cache.urls")),
]

handler400 = "controlplane.home.refused"
handler404 = "controlplane.home.not_found"
handler403 = "controlplane.home.forbidden"
handler500 = "controlplane.home.failed"
