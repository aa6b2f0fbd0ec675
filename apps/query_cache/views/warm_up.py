"""How long the cache takes to warm up: the panel of its page, and the same panel alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.query_cache.forms.warm_up import WarmUpForm

# What else its address says: it stays as it is.
_OF_THE_PAGE = ("storage", "axis")


@require_GET
@page()
def cluster_cache_warm_up(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """422 with what is wrong beside its field. The address shown becomes that of the page with these figures."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    context = {"caller": caller, "cluster": cluster, **warm_up_context(request, cluster)}
    status = 422 if context["warm_up_form"].errors else 200
    answer = render(request, "query_cache/_cache_warm_up.html", context, status=status)
    query = context["warm_up_query"]
    page_of_it = reverse("cluster-cache", args=[caller.organisation.slug, cluster.slug])
    answer["HX-Replace-Url"] = f"{page_of_it}{'?' if query else ''}{query}"
    return answer


def warm_up_context(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    """warm_up: None where what was asked for is refused; the form then says why."""
    # scipy takes half a second and 40 MB, which no other request should pay for.
    from apps.query_cache.queries.warm_up import forecast_answer

    form = WarmUpForm(request.GET)
    kept = {name: request.GET[name] for name in _OF_THE_PAGE if request.GET.get(name)}
    typed = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    asked = {"warm_up_form": form, "warm_up_kept": kept, "warm_up_query": urlencode({**kept, **typed})}
    if not form.is_valid():
        return {**asked, "warm_up": None}
    found = forecast_answer(cluster=cluster, now=timezone.now(), **form.cleaned_data)
    drawn = {"keys": found["keys"], "per_s": found["per_s"], "write_every_s": form.cleaned_data["write_every_s"]}
    return {
        **asked,
        "warm_up": found,
        # What is drawn is what is told, also where a measured rate has moved meanwhile.
        "warm_up_drawn": urlencode({name: value for name, value in drawn.items() if value is not None}),
    }
