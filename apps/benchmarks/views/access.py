"""The page on which an admin allows load on a cluster; everybody else reads it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import access
from apps.benchmarks.control.access import AccessRefused
from apps.benchmarks.forms.access import AccessForm
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.views.detail import cluster_context


@never_cache
@require_http_methods(["GET", "POST"])
@page()
def benchmark_access(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    stored = _stored(cluster)
    if request.method == "GET":
        return _page(request, caller, cluster, AccessForm(stored=stored, has_password=_is_stored(cluster)))
    caller.require(Role.ADMIN)
    form = AccessForm(request.POST, stored=stored, has_password=_is_stored(cluster))
    if not form.is_valid():
        return _page(request, caller, cluster, form, status=422)
    try:
        access.change(caller=caller, cluster=cluster, changes=form.changes())
    except AccessRefused as error:
        form.refuse(error)
        return _page(request, caller, cluster, form, status=422)
    messages.success(request, f"{cluster.name} {'may' if form.cleaned_data['is_on'] else 'may not'} be put under load.")
    return see_other("benchmark-access", organisation=caller.organisation.slug, slug=cluster.slug)


def _is_stored(cluster: Cluster) -> bool:
    return BenchmarkAccess.objects.filter(cluster=cluster).exists()


def _stored(cluster: Cluster) -> dict[str, Any]:
    """Without its password; what is usual where nobody has allowed it yet."""
    row = BenchmarkAccess.objects.defer("password").filter(cluster=cluster).first()
    if row is None:
        return {**access.described(BenchmarkAccess()), "is_on": True}
    return access.described(row)


def _page(request: HttpRequest, caller: Caller, cluster: Cluster, form: AccessForm, status: int = 200) -> HttpResponse:
    context = {
        **cluster_context(caller, cluster, "settings"),
        "form": form,
        "access": BenchmarkAccess.objects.defer("password").filter(cluster=cluster).first(),
        "endpoints": cluster.benchmark_endpoints.count(),
        "admins": who_may(organisation=caller.organisation, role=Role.ADMIN),
    }
    return render(request, "benchmarks/benchmark_access.html", context, status=status)
