"""The page of drift: what was edited by hand, and the two ways to deal with it, each after its diff was shown."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import drift_changes
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.domain.rollout_waves import ONE_BY_ONE, Absent, Plan, PlanError
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster, Rollout
from apps.clusters.queries import lookup
from apps.clusters.queries.debts import open_debts
from apps.clusters.queries.drift import DriftAnswer, drift_answer, drift_diffs
from apps.clusters.queries.unanswered import outlook
from apps.clusters.views.detail import cluster_context

Story = Callable[..., Rollout]


@require_GET
@page()
def cluster_drift(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _shown(request, caller, slug, "clusters/cluster_drift.html")


@require_GET
@page()
def drift_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes with every look."""
    return _shown(request, caller, slug, "clusters/_drift.html")


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def drift_adopt(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Asked for: what adopting would take as verified. Posted: the rollout that does it."""
    return _confirmed(request, caller, slug, drift_changes.request_adoption, is_revert=False)


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def drift_revert(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Asked for: what reverting would write. Posted: the rollout that does it."""
    return _confirmed(request, caller, slug, drift_changes.request_reversion, is_revert=True)


def _shown(request: HttpRequest, caller: Caller, slug: str, template: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    found = drift_answer(caller=caller, cluster=cluster)
    context = {
        **cluster_context(caller, cluster, "drift"),
        "drift": found,
        "debts": open_debts(cluster=cluster),
        "files_every_s": settings.FILES_EVERY_S,
    }
    return render(request, template, context)


def _confirmed(request: HttpRequest, caller: Caller, slug: str, story: Story, *, is_revert: bool) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    name = (request.GET if request.method == "GET" else request.POST).get("instance", "")
    instances = list(cluster.instances.defer("pcp_password").order_by("name"))
    found = drift_answer(caller=caller, cluster=cluster)
    usual = Plan(absent=Absent.OWE) if found["unreached"] and not name else ONE_BY_ONE
    chosen = [each for each in instances if each.name == name] or instances
    plan_form = PlanForm.of_instances(cluster, chosen, request.POST, usual=usual, goes_past_failures=True)
    if request.method == "GET":
        return _confirmation(request, caller, cluster, found, name, plan_form, is_revert=is_revert)
    if plan_form.is_refused:
        return _confirmation(request, caller, cluster, found, name, plan_form, is_revert=is_revert, status=422)
    try:
        return _requested(request, caller, cluster, story, name=name, plan=plan_form.plan)
    except PlanError as error:
        plan_form.refuse(error)
        return _confirmation(request, caller, cluster, found, name, plan_form, is_revert=is_revert, status=422)


def _confirmation(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    found: DriftAnswer,
    name: str,
    plan_form: PlanForm,
    *,
    is_revert: bool,
    status: int = 200,
) -> HttpResponse:
    diffs = drift_diffs(cluster=cluster, names=[name] if name else [], is_revert=is_revert)
    chosen = next((each for each in found["instances"] if each["instance"] == name), None)
    subject = chosen or found
    context = {
        **cluster_context(caller, cluster, "drift"),
        "drift": found,
        "subject": subject,
        "instance": name if chosen else "",
        "is_revert": is_revert,
        "may": subject["can_revert"] if is_revert else subject["can_adopt"],
        "why_not": subject["revert_reason"] if is_revert else subject["adopt_reason"],
        "diffs": diffs,
        "plan_form": plan_form,
        "unanswered": partial(outlook, cluster=cluster, goes_past_failures=True, names=plan_form.instance_names),
        "refusal": "How to roll out: look at what is marked there." if plan_form.is_refused else "",
    }
    return render(request, "clusters/drift_confirm.html", context, status=status)


def _requested(
    request: HttpRequest, caller: Caller, cluster: Cluster, story: Story, *, name: str, plan: dict[str, Any] | None
) -> HttpResponse:
    """Raises PlanError."""
    names = [name] if name else []
    try:
        rollout = story(caller=caller, cluster=cluster, names=names, plan=plan, now=timezone.now())
    except (WeightsRefused, RolloutRunning, drift_changes.UnknownInstances) as error:
        messages.error(request, str(error))
        return see_other("cluster-drift", organisation=caller.organisation.slug, slug=cluster.slug)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)
