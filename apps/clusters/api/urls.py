"""Addresses of the REST interface of clusters, below /api/v1/."""

from django.urls import path

from apps.clusters.api import calculators, clusters, weights

urlpatterns = [
    path("clusters/", clusters.ClustersView.as_view(), name="api-clusters"),
    path("clusters/test-connection/", clusters.ConnectionTestView.as_view(), name="api-test-connection"),
    path("clusters/<slug:slug>/", clusters.ClusterView.as_view(), name="api-cluster"),
    path("clusters/<slug:slug>/nodes/", clusters.NodesView.as_view(), name="api-nodes"),
    path("clusters/<slug:slug>/distribution/", clusters.DistributionView.as_view(), name="api-distribution"),
    path("clusters/<slug:slug>/series/", clusters.SeriesView.as_view(), name="api-series"),
    path("clusters/<slug:slug>/events/", clusters.EventsView.as_view(), name="api-events"),
    path("clusters/<slug:slug>/pgpools/", clusters.PgpoolsView.as_view(), name="api-pgpools"),
    path("clusters/<slug:slug>/pgpools/<str:name>/", clusters.PgpoolView.as_view(), name="api-pgpool"),
    path("clusters/<slug:slug>/weights/", weights.WeightsView.as_view(), name="api-weights"),
    path("clusters/<slug:slug>/weights/preview/", weights.PreviewView.as_view(), name="api-weights-preview"),
    path("clusters/<slug:slug>/revisions/", weights.RevisionsView.as_view(), name="api-revisions"),
    path("clusters/<slug:slug>/revisions/<int:number>/", weights.RevisionView.as_view(), name="api-revision"),
    path("clusters/<slug:slug>/rollouts/", weights.ClusterRolloutsView.as_view(), name="api-cluster-rollouts"),
    path("rollouts/<int:pk>/", weights.RolloutView.as_view(), name="api-rollout"),
    path("rollouts/<int:pk>/rollback/", weights.RollbackView.as_view(), name="api-rollout-rollback"),
    path("rollouts/<int:pk>/cancel/", weights.CancelView.as_view(), name="api-rollout-cancel"),
    path("calculators/routing-verdict/", calculators.RoutingVerdictView.as_view(), name="api-routing-verdict"),
]
