"""The page that registers a cluster."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role


@page(Role.ADMIN)
def register_cluster(request: HttpRequest, caller: Caller) -> HttpResponse:
    return render(request, "clusters/cluster_register.html")
