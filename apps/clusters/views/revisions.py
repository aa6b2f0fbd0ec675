"""The page that goes back to an earlier revision: what it would write, then the rollout."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import revision_return, weight_change
from apps.clusters.domain.weights import WeightError
from apps.clusters.queries import lookup
from apps.clusters.queries.revision_return import return_answer
from apps.clusters.views.detail import cluster_context


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def revision_roll_out(request: HttpRequest, caller: Caller, slug: str, number: int) -> HttpResponse:
    """Asked for: what going back would write. Posted: the rollout that does it."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    revision = lookup.revision_of(cluster=cluster, number=number)
    if request.method == "GET":
        found = return_answer(cluster=cluster, revision=revision)
        context = {**cluster_context(caller, cluster, "history"), "found": found, "diffs": found["files"]}
        return render(request, "clusters/revision_roll_out.html", context)
    base = request.POST.get("base", weight_change.KNOWN)
    try:
        rollout = revision_return.request_return(
            caller=caller, cluster=cluster, revision=revision, base=base, now=timezone.now()
        )
    except (
        WeightError,
        weight_change.WeightsRefused,
        weight_change.BaseChanged,
        weight_change.RolloutRunning,
    ) as error:
        messages.error(request, str(error))
        organisation = caller.organisation.slug
        return see_other("cluster-revision-roll-out", organisation=organisation, slug=slug, number=number)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)
