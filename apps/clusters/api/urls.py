"""Addresses of the REST interface of clusters, below /api/v1/."""

from django.urls import path

from apps.clusters.api import (
    backends,
    calculators,
    clusters,
    configuration,
    debts,
    delivery,
    disagreements,
    drafts,
    drift,
    functions,
    parameter_change,
    registry,
    revisions,
    role_weights,
    weights,
    writes,
)

urlpatterns = [
    path("clusters/", clusters.ClustersView.as_view(), name="api-clusters"),
    path("clusters/test-connection/", clusters.ConnectionTestView.as_view(), name="api-test-connection"),
    path("clusters/<slug:slug>/", clusters.ClusterView.as_view(), name="api-cluster"),
    path("clusters/<slug:slug>/nodes/", clusters.NodesView.as_view(), name="api-nodes"),
    path("clusters/<slug:slug>/distribution/", clusters.DistributionView.as_view(), name="api-distribution"),
    path("clusters/<slug:slug>/series/", clusters.SeriesView.as_view(), name="api-series"),
    path("clusters/<slug:slug>/events/", clusters.EventsView.as_view(), name="api-events"),
    path("clusters/<slug:slug>/disagreements/", disagreements.DisagreementsView.as_view(), name="api-disagreements"),
    path("clusters/<slug:slug>/backends/<int:node_id>/", backends.BackendView.as_view(), name="api-backend"),
    path(
        "clusters/<slug:slug>/backends/<int:node_id>/attach/", backends.AttachView.as_view(), name="api-backend-attach"
    ),
    path(
        "clusters/<slug:slug>/backends/<int:node_id>/detach/", backends.DetachView.as_view(), name="api-backend-detach"
    ),
    path("clusters/<slug:slug>/backends/<int:node_id>/drain/", backends.DrainView.as_view(), name="api-backend-drain"),
    path("clusters/<slug:slug>/operations/<int:operation_id>/", backends.OperationView.as_view(), name="api-operation"),
    path(
        "clusters/<slug:slug>/operations/<int:operation_id>/cancel/",
        backends.CancelOperationView.as_view(),
        name="api-operation-cancel",
    ),
    path(
        "clusters/<slug:slug>/operations/<int:operation_id>/go-on/",
        backends.GoOnView.as_view(),
        name="api-operation-go-on",
    ),
    path("clusters/<slug:slug>/pgpools/", clusters.PgpoolsView.as_view(), name="api-pgpools"),
    path("clusters/<slug:slug>/pgpools/<str:name>/", clusters.PgpoolView.as_view(), name="api-pgpool"),
    path("clusters/<slug:slug>/role-weights/", role_weights.RoleWeightsView.as_view(), name="api-role-weights"),
    path(
        "clusters/<slug:slug>/role-weights/apply/",
        role_weights.RoleWeightsApplyView.as_view(),
        name="api-role-weights-apply",
    ),
    path(
        "clusters/<slug:slug>/role-weights/dismiss/",
        role_weights.RoleWeightsDismissView.as_view(),
        name="api-role-weights-dismiss",
    ),
    path(
        "clusters/<slug:slug>/instances/<str:name>/published/", delivery.PublishedView.as_view(), name="api-published"
    ),
    path("ssh-key/", delivery.SshKeyView.as_view(), name="api-ssh-key"),
    path("clusters/<slug:slug>/weights/", weights.WeightsView.as_view(), name="api-weights"),
    path("clusters/<slug:slug>/weights/preview/", weights.PreviewView.as_view(), name="api-weights-preview"),
    path("clusters/<slug:slug>/parameters/", configuration.ParametersView.as_view(), name="api-parameters"),
    path(
        "clusters/<slug:slug>/parameters/preview/",
        parameter_change.ParametersPreviewView.as_view(),
        name="api-parameters-preview",
    ),
    path("clusters/<slug:slug>/draft/", drafts.DraftView.as_view(), name="api-draft"),
    path("clusters/<slug:slug>/draft/preview/", drafts.DraftPreviewView.as_view(), name="api-draft-preview"),
    path("clusters/<slug:slug>/draft/rollout/", drafts.DraftRolloutView.as_view(), name="api-draft-rollout"),
    path("clusters/<slug:slug>/drift/", drift.DriftView.as_view(), name="api-drift"),
    path("clusters/<slug:slug>/drift/adopt/", drift.AdoptView.as_view(), name="api-drift-adopt"),
    path("clusters/<slug:slug>/drift/revert/", drift.RevertView.as_view(), name="api-drift-revert"),
    path("clusters/<slug:slug>/debts/", debts.DebtsView.as_view(), name="api-debts"),
    path("clusters/<slug:slug>/debts/<int:pk>/give/", debts.DebtGiveView.as_view(), name="api-debt-give"),
    path("clusters/<slug:slug>/debts/<int:pk>/forgive/", debts.DebtForgiveView.as_view(), name="api-debt-forgive"),
    path("clusters/<slug:slug>/validate/", configuration.ValidationView.as_view(), name="api-validate"),
    path("clusters/<slug:slug>/revisions/", weights.RevisionsView.as_view(), name="api-revisions"),
    path("clusters/<slug:slug>/revisions/<int:number>/", weights.RevisionView.as_view(), name="api-revision"),
    path(
        "clusters/<slug:slug>/revisions/<int:number>/roll-out/",
        revisions.RevisionRollOutView.as_view(),
        name="api-revision-roll-out",
    ),
    path("clusters/<slug:slug>/rollouts/", weights.ClusterRolloutsView.as_view(), name="api-cluster-rollouts"),
    path("rollouts/<int:pk>/", weights.RolloutView.as_view(), name="api-rollout"),
    path("rollouts/<int:pk>/receipts/", weights.ReceiptsView.as_view(), name="api-rollout-receipts"),
    path("rollouts/<int:pk>/rollback/", weights.RollbackView.as_view(), name="api-rollout-rollback"),
    path("rollouts/<int:pk>/cancel/", weights.CancelView.as_view(), name="api-rollout-cancel"),
    path("clusters/<slug:slug>/observe-only/", writes.ClusterObserveView.as_view(), name="api-observe-only"),
    path("observe-only/", writes.OrganisationObserveView.as_view(), name="api-organisation-observe-only"),
    path("clusters/<slug:slug>/functions/", functions.FunctionsView.as_view(), name="api-functions"),
    path("clusters/<slug:slug>/functions/survey/", functions.FunctionSurveyView.as_view(), name="api-functions-survey"),
    path("clusters/<slug:slug>/functions/draft/", functions.FunctionDraftView.as_view(), name="api-functions-draft"),
    path("clusters-registry/", registry.RegistryView.as_view(), name="api-registry"),
    path("writes-allowed/", writes.WritesAllowedView.as_view(), name="api-writes-allowed"),
    path("rollouts/<int:pk>/pause/", weights.PauseView.as_view(), name="api-rollout-pause"),
    path("rollouts/<int:pk>/resume/", weights.ResumeView.as_view(), name="api-rollout-resume"),
    path("calculators/routing-verdict/", calculators.RoutingVerdictView.as_view(), name="api-routing-verdict"),
]
