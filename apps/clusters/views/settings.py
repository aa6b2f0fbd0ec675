"""The settings of one cluster: what is registered, and each change to it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.clusters.queries import lookup
from apps.clusters.views.detail import cluster_context


@page()
def cluster_settings(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    context = {**cluster_context(caller, cluster, "settings"), "instances": cluster.instances.order_by("pk")}
    return render(request, "clusters/cluster_settings.html", context)


@require_POST
@page(Role.ADMIN)
def change_credentials(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _back(caller, slug)


@require_POST
@page(Role.ADMIN)
def change_places(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _back(caller, slug)


@require_POST
@page(Role.ADMIN)
def add_pgpool(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _back(caller, slug)


@require_POST
@page(Role.ADMIN)
def change_delivery(request: HttpRequest, caller: Caller, slug: str, name: str) -> HttpResponse:
    return _back(caller, slug)


@require_POST
@page(Role.ADMIN)
def remove_pgpool(request: HttpRequest, caller: Caller, slug: str, name: str) -> HttpResponse:
    return _back(caller, slug)


@require_POST
@page(Role.ADMIN)
def remove_cluster(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _back(caller, slug)


def _back(caller: Caller, slug: str) -> HttpResponse:
    answer = redirect("cluster-settings", organisation=caller.organisation.slug, slug=slug)
    answer.status_code = 303
    return answer
