"""The page of rolling restarts: what waits for one, the risk before it begins, and how far it is."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import restarts
from apps.clusters.control.restarts import RestartInvalid, RestartRefused
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.forms.restarts import RestartForm
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.restarts import restarts_answer
from apps.clusters.views.detail import cluster_context

REFUSALS = (RestartInvalid, RestartRefused, RolloutRunning, WeightsRefused)
TAB = "configuration"


@require_GET
@page()
def cluster_restarts(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _shown(request, caller, slug, "clusters/cluster_restarts.html")


@require_GET
@page()
def restarts_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes while pgpools are restarted."""
    return _shown(request, caller, slug, "clusters/_restarts_now.html")


def _shown(request: HttpRequest, caller: Caller, slug: str, template: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    answer = restarts_answer(cluster=cluster, caller=caller)
    finished = [each for each in answer["restarts"] if not each["is_active"]]
    context = {**cluster_context(caller, cluster, TAB), "answer": answer, "finished": finished}
    return render(request, template, context)


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def restart_start(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Asked for: what it would do, from what every pgpool says just now. Posted: the restart."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    answer = restarts_answer(cluster=cluster, caller=caller)
    names = restarts.restartable_names(cluster)
    waiting = [name for name in answer["waiting"] if name in names] or names
    if request.method == "GET":
        chosen = [name for name in request.GET.getlist("instance") if name in names] or waiting
        return _asked(request, caller, cluster, RestartForm(names=names, initial={"instances": chosen}), chosen)
    form = RestartForm(request.POST, names=names)
    if not form.is_valid():
        return _asked(request, caller, cluster, form, waiting, status=422)
    try:
        restarts.request(
            caller=caller,
            cluster=cluster,
            names=form.cleaned_data["instances"],
            note=form.cleaned_data["note"],
            now=timezone.now(),
        )
    except REFUSALS as error:
        return _asked(request, caller, cluster, form, (), refusal=str(error), status=409)
    return see_other("cluster-restarts", organisation=caller.organisation.slug, slug=cluster.slug)


def _asked(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    form: RestartForm,
    chosen: Sequence[str],
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {**cluster_context(caller, cluster, TAB), "form": form, "refusal": refusal}
    if not refusal:
        context["risk"] = restarts.risk_of(cluster=cluster, names=chosen or None)
    return render(request, "clusters/restart_start.html", context, status=status)


@require_POST
@page(Role.OPERATOR)
def restart_cancel(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    try:
        restarts.cancel(caller=caller, restart=lookup.restart_of(cluster=cluster, pk=pk), now=timezone.now())
    except RestartRefused as error:
        messages.error(request, str(error))
    return see_other("cluster-restarts", organisation=caller.organisation.slug, slug=cluster.slug)
