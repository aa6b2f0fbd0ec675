"""Pages of a cluster's endpoints: all of them with a form for one more, one, its removal, and whether it answers."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import endpoint_visit, endpoints
from apps.benchmarks.control.endpoint_visit import Belonging, Visit
from apps.benchmarks.control.endpoints import EndpointRefused
from apps.benchmarks.control.runs import NotAllowedHere
from apps.benchmarks.forms.endpoint import EndpointForm, NewEndpointForm
from apps.benchmarks.models import BenchmarkAccess, BenchmarkEndpoint
from apps.benchmarks.queries.endpoints import campaigns_through, endpoint_answer, endpoint_by_pk
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.views.detail import cluster_context


@require_http_methods(["GET", "POST"])
@page()
def endpoint_list(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    if request.method == "GET":
        return _list(request, caller, cluster, NewEndpointForm(initial={"takes_writes": True}))
    caller.require(Role.ADMIN)
    form = NewEndpointForm(request.POST)

    def add() -> None:
        endpoints.add(caller=caller, cluster=cluster, name=form.cleaned_data["name"], facts=form.facts())

    if not _carried_out(form, add):
        return _list(request, caller, cluster, form, status=422)
    messages.success(request, f"{form.cleaned_data['name']} is registered: benchmarks can go through it.")
    return _to_list(caller, cluster)


@require_http_methods(["GET", "POST"])
@page(Role.ADMIN)
def endpoint_change(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    endpoint = endpoint_by_pk(cluster=cluster, pk=pk)
    if request.method == "GET":
        return _one(request, caller, endpoint, EndpointForm(initial=endpoints.described(endpoint)))
    form = EndpointForm(request.POST)

    def change() -> None:
        endpoints.change(caller=caller, endpoint=endpoint, changes=form.facts())

    if not _carried_out(form, change):
        return _one(request, caller, endpoint, form, status=422)
    messages.success(request, f"{endpoint.name} is stored.")
    return _to_list(caller, cluster)


@require_http_methods(["GET", "POST"])
@page(Role.ADMIN)
def endpoint_remove(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    """Asked for: what waits for it. Posted: it is gone, what was measured stays."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    endpoint = endpoint_by_pk(cluster=cluster, pk=pk)
    if request.method == "GET":
        context = {
            **cluster_context(caller, cluster, "settings"),
            "endpoint": endpoint,
            "answer": endpoint_answer(endpoint),
            "campaigns": campaigns_through(endpoint),
        }
        return render(request, "benchmarks/endpoint_remove.html", context)
    endpoints.remove(caller=caller, endpoint=endpoint)
    messages.success(request, f"{endpoint.name} is removed. What was measured through it stays.")
    return _to_list(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def endpoint_try(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    """One session, as the load would open it; nothing is stored."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    endpoint = endpoint_by_pk(cluster=cluster, pk=pk)
    try:
        found, belonging = endpoint_visit.visit_endpoint(caller=caller, endpoint=endpoint)
    except NotAllowedHere as error:
        messages.error(request, str(error))
        return _to_list(caller, cluster)
    if found.refusal:
        messages.error(request, f"{endpoint.name} gave no session. {found.refusal} {found.fix}".strip())
    elif belonging.is_of_cluster is False and endpoint.kind != BenchmarkEndpoint.Kind.ROUTER:
        messages.error(
            request, f"{_said(endpoint, found, belonging)} Runs through it are refused until that is mended."
        )
    else:
        messages.success(request, _said(endpoint, found, belonging))
    return _to_list(caller, cluster)


def _carried_out(form: EndpointForm, story: Callable[[], None]) -> bool:
    """Whether it was; else the form says why not."""
    if not form.is_valid():
        return False
    try:
        story()
    except EndpointRefused as error:
        form.refuse(error)
        return False
    return True


def _said(endpoint: BenchmarkEndpoint, found: Visit, belonging: Belonging) -> str:
    """Which server of the cluster it is, where it is one; else what is there instead, or why nobody knows."""
    is_other = belonging.is_of_cluster is False
    role = {None: "", True: ", a standby", False: ", the primary"}[None if is_other else found.is_in_recovery]
    within = f"{found.connect_ms or 0:.0f}\u00a0ms"
    said = f"{endpoint.name} let a session in within {within}: PostgreSQL {found.server_version}{role}."
    if is_other:
        said += f" It leads to {belonging.words}."
    if belonging.is_of_cluster is None:
        said += f" Nobody knows whether it leads to the servers of {endpoint.cluster.name}: {belonging.words}."
    return said


def _list(
    request: HttpRequest, caller: Caller, cluster: Cluster, form: NewEndpointForm, status: int = 200
) -> HttpResponse:
    rows = [(each, endpoint_answer(each)) for each in cluster.benchmark_endpoints.order_by("name")]
    context = {
        **cluster_context(caller, cluster, "settings"),
        "form": form,
        "rows": rows,
        "may_operate": caller.may(Role.OPERATOR),
        "is_allowed": BenchmarkAccess.objects.filter(cluster=cluster, is_on=True).exists(),
        "admins": who_may(organisation=caller.organisation, role=Role.ADMIN),
    }
    return render(request, "benchmarks/endpoint_list.html", context, status=status)


def _one(
    request: HttpRequest, caller: Caller, endpoint: BenchmarkEndpoint, form: EndpointForm, status: int = 200
) -> HttpResponse:
    context = {**cluster_context(caller, endpoint.cluster, "settings"), "form": form, "endpoint": endpoint}
    return render(request, "benchmarks/endpoint_change.html", context, status=status)


def _to_list(caller: Caller, cluster: Cluster) -> HttpResponse:
    return see_other("endpoint-list", organisation=caller.organisation.slug, slug=cluster.slug)
