"""Pages of the fleet."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.clusters.models import Cluster


@require_GET
@page()
def fleet(request: HttpRequest, caller: Caller) -> HttpResponse:
    clusters = Cluster.objects.filter(organisation=caller.organisation).order_by("name", "pk")
    return render(request, "fleet/fleet_list.html", {"clusters": clusters})
