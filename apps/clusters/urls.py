"""Pages of clusters, below /o/<organisation>/."""

from django.urls import path

from apps.clusters.views import detail, registration, rollouts, settings, weights

urlpatterns = [
    path("clusters/register/", registration.register_cluster, name="cluster-register"),
    path("clusters/register/test/", registration.register_test, name="cluster-register-test"),
    path("clusters/register/pgpool/", registration.register_pgpool_row, name="cluster-register-pgpool"),
    path("clusters/<slug:slug>/", detail.cluster_overview, name="cluster"),
    path("clusters/<slug:slug>/now/", detail.cluster_now, name="cluster-now"),
    path("clusters/<slug:slug>/saturation/", detail.cluster_saturation, name="cluster-saturation"),
    path("clusters/<slug:slug>/happened/", detail.cluster_happened, name="cluster-happened"),
    path("clusters/<slug:slug>/events/", detail.cluster_events, name="cluster-events"),
    path("clusters/<slug:slug>/history/", detail.cluster_history, name="cluster-history"),
    path("clusters/<slug:slug>/revisions/<int:number>/", detail.cluster_revision, name="cluster-revision"),
    path("clusters/<slug:slug>/weights/", weights.weights_editor, name="cluster-weights"),
    path("clusters/<slug:slug>/weights/preview/", weights.weights_preview, name="cluster-weights-preview"),
    path("clusters/<slug:slug>/settings/", settings.cluster_settings, name="cluster-settings"),
    path("clusters/<slug:slug>/settings/name/", settings.change_name, name="cluster-name"),
    path("clusters/<slug:slug>/settings/credentials/", settings.change_credentials, name="cluster-credentials"),
    path("clusters/<slug:slug>/settings/places/", settings.change_places, name="cluster-places"),
    path("clusters/<slug:slug>/settings/pgpools/", settings.add_pgpool, name="cluster-pgpool-add"),
    path("clusters/<slug:slug>/settings/pgpools/<int:pk>/", settings.change_pgpool, name="cluster-pgpool"),
    path("clusters/<slug:slug>/settings/pgpools/<int:pk>/remove/", settings.remove_pgpool, name="cluster-pgpool-drop"),
    path("clusters/<slug:slug>/settings/remove/", settings.remove_cluster, name="cluster-remove"),
    path("rollouts/", rollouts.rollout_list, name="rollout-list"),
    path("rollouts/<int:pk>/", rollouts.rollout_detail, name="rollout"),
    path("rollouts/<int:pk>/now/", rollouts.rollout_now, name="rollout-now"),
    path("rollouts/<int:pk>/rollback/", rollouts.rollout_rollback, name="rollout-rollback"),
    path("rollouts/<int:pk>/cancel/", rollouts.rollout_cancel, name="rollout-cancel"),
]
