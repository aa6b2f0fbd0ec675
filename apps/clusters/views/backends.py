"""The page of one backend: how every pgpool sees it, what is done to it, and the forms that attach, detach, drain."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import backend_operations, rollout_rows, weight_change
from apps.clusters.domain.weights import WeightError
from apps.clusters.forms.operations import OperationForm
from apps.clusters.models import Backend, Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.backend_operations import backend_answer
from apps.clusters.views.detail import cluster_context

REFUSALS = (
    backend_operations.OperationInvalid,
    backend_operations.OperationRefused,
    rollout_rows.RolloutRunning,
    weight_change.BaseChanged,
    weight_change.WeightsRefused,
    WeightError,
)


@require_GET
@page()
def backend_detail(request: HttpRequest, caller: Caller, slug: str, node_id: int) -> HttpResponse:
    return _shown(request, caller, slug, node_id, "clusters/backend_detail.html")


@require_GET
@page()
def backend_now(request: HttpRequest, caller: Caller, slug: str, node_id: int) -> HttpResponse:
    """What of the page changes with every poll, and while something is done."""
    return _shown(request, caller, slug, node_id, "clusters/_backend_now.html")


def _shown(request: HttpRequest, caller: Caller, slug: str, node_id: int, template: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    backend = lookup.backend_of(cluster=cluster, node_id=node_id)
    answer = backend_answer(cluster=cluster, backend=backend, caller=caller, now=timezone.now())
    return render(request, template, {**cluster_context(caller, cluster, "overview"), "answer": answer})


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def operation_start(request: HttpRequest, caller: Caller, slug: str, node_id: int, kind: str) -> HttpResponse:
    """Asked for: what it would do, from what every server says just now. Posted: the operation."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    backend = lookup.backend_of(cluster=cluster, node_id=node_id)
    form = OperationForm(request.POST if request.method == "POST" else None, is_drain=kind == "drain")
    if request.method == "GET":
        return _asked(request, caller, cluster, backend, kind, form)
    if not form.is_valid():
        return _asked(request, caller, cluster, backend, kind, form, status=422)
    try:
        backend_operations.request(
            caller=caller,
            cluster=cluster,
            backend=backend,
            kind=kind,
            reason=form.cleaned_data["reason"],
            wait_limit_s=form.wait_limit_s,
            now=timezone.now(),
        )
    except REFUSALS as error:
        return _asked(request, caller, cluster, backend, kind, form, refusal=str(error), status=409)
    return _to_backend(caller, cluster, backend.node_id)


def _asked(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    backend: Backend,
    kind: str,
    form: OperationForm,
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        **cluster_context(caller, cluster, "overview"),
        "backend": backend,
        "kind": kind,
        "form": form,
        "refusal": refusal,
    }
    if not refusal:
        context["risk"] = backend_operations.risk_of(cluster=cluster, backend=backend, kind=kind)
    return render(request, "clusters/backend_operation.html", context, status=status)


@require_POST
@page(Role.OPERATOR)
def operation_cancel(request: HttpRequest, caller: Caller, slug: str, operation_id: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    operation = lookup.operation_of(cluster=cluster, pk=operation_id)
    try:
        backend_operations.cancel(caller=caller, operation=operation, now=timezone.now())
    except backend_operations.OperationRefused as error:
        messages.error(request, str(error))
    return _to_backend(caller, cluster, operation.node_id)


@require_POST
@page(Role.OPERATOR)
def operation_go_on(request: HttpRequest, caller: Caller, slug: str, operation_id: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    operation = lookup.operation_of(cluster=cluster, pk=operation_id)
    try:
        backend_operations.go_on(caller=caller, operation=operation, now=timezone.now())
    except backend_operations.OperationRefused as error:
        messages.error(request, str(error))
    return _to_backend(caller, cluster, operation.node_id)


def _to_backend(caller: Caller, cluster: Cluster, node_id: int) -> HttpResponse:
    return see_other("cluster-backend", organisation=caller.organisation.slug, slug=cluster.slug, node_id=node_id)
