"""The page that goes back to an earlier revision: what it would write, then the rollout."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import revision_return, weight_change
from apps.clusters.domain.weights import WeightError
from apps.clusters.forms.refusals import sentence
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster, ConfigRevision
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
        return _shown(request, caller, cluster, revision)
    plan_form = PlanForm.of_cluster(cluster, request.POST)
    if plan_form.is_refused:
        said = "How to roll out: look at what is marked there."
        return _shown(request, caller, cluster, revision, refusal=said, status=422)
    base = request.POST.get("base", weight_change.KNOWN)
    try:
        rollout = revision_return.request_return(
            caller=caller, cluster=cluster, revision=revision, base=base, plan=plan_form.plan, now=timezone.now()
        )
    except (
        WeightError,
        weight_change.WeightsRefused,
        weight_change.BaseChanged,
        weight_change.RolloutRunning,
    ) as error:
        return _shown(request, caller, cluster, revision, refusal=sentence(str(error)), status=409)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


def _shown(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    revision: ConfigRevision,
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    found = return_answer(caller=caller, cluster=cluster, revision=revision)
    context = {
        **cluster_context(caller, cluster, "history"),
        "found": found,
        "diffs": found["files"],
        "plan_form": PlanForm.of_cluster(cluster, request.POST),
        "refusal": refusal,
    }
    return render(request, "clusters/revision_roll_out.html", context, status=status)
