"""Weights by role: the wish, and the click that rolls out what a change of roles asks for."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import role_weights
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.weight_change import BaseChanged
from apps.clusters.domain.rollout_waves import Absent, OnReturn, Plan
from apps.clusters.domain.weights import WeightError
from apps.clusters.forms.role_weights import RoleWeightsForm
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.role_weights import RoleWeightsAnswer, role_weights_answer
from apps.clusters.views.detail import cluster_context


@require_http_methods(["GET", "POST"])
@page()
def cluster_role_weights(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    now = timezone.now()
    if request.method == "POST":
        caller.require(Role.OPERATOR)
        form = RoleWeightsForm(request.POST)
        if not form.is_valid():
            return _page(request, caller, cluster, form, status=422)
        wanted = form.wanted()
        if not caller.may(Role.ADMIN):
            wanted["applies_itself"] = role_weights_answer(cluster=cluster, now=now)["applies_itself"]
        role_weights.keep(caller=caller, cluster=cluster, now=now, **wanted)
        messages.success(request, "The weights by role are stored. Nothing was rolled out by that.")
        return see_other("cluster-role-weights", organisation=caller.organisation.slug, slug=cluster.slug)
    return _page(request, caller, cluster, None)


@require_POST
@page(Role.OPERATOR)
def role_weights_forget(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    role_weights.keep(
        caller=caller, cluster=cluster, primary_share=None, applies_itself=False, pause_s=0, now=timezone.now()
    )
    messages.success(request, "The weights no longer go by role.")
    return see_other("cluster-role-weights", organisation=caller.organisation.slug, slug=cluster.slug)


@require_POST
@page(Role.OPERATOR)
def role_weights_apply(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    plan_form = PlanForm.of_cluster(cluster, request.POST)
    if plan_form.is_refused:
        return _page(request, caller, cluster, None, plan_form=plan_form, status=422)
    try:
        rollout = role_weights.apply(caller=caller, cluster=cluster, plan=plan_form.plan, now=timezone.now())
    except RolloutRunning as error:
        messages.warning(request, str(error))
        return see_other("rollout", organisation=caller.organisation.slug, pk=error.rollout_id)
    except (WeightsRefused, WeightError, BaseChanged) as error:
        messages.error(request, f"Nothing was changed. {error}")
        return see_other("cluster-role-weights", organisation=caller.organisation.slug, slug=cluster.slug)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


@require_POST
@page(Role.OPERATOR)
def role_weights_dismiss(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    try:
        role_weights.dismiss(caller=caller, cluster=cluster, now=timezone.now())
    except role_weights.NotByRole:
        messages.warning(request, "Nothing is proposed any more.")
    return see_other("cluster", organisation=caller.organisation.slug, slug=cluster.slug)


def _page(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    form: RoleWeightsForm | None,
    *,
    plan_form: PlanForm | None = None,
    status: int = 200,
) -> HttpResponse:
    answer = role_weights_answer(cluster=cluster, now=timezone.now())
    context: dict[str, Any] = {
        **cluster_context(caller, cluster, "weights"),
        "by_role": answer,
        "form": form or _filled(answer),
        "plan_form": plan_form or PlanForm.of_cluster(cluster, usual=_usual(answer)),
    }
    return render(request, "clusters/cluster_role_weights.html", context, status=status)


def _usual(answer: RoleWeightsAnswer) -> Plan:
    on_return = answer["on_return"]
    return Plan(absent=Absent(answer["absent"]), on_return=None if on_return is None else OnReturn(on_return))


def _filled(answer: RoleWeightsAnswer) -> RoleWeightsForm:
    share = answer["primary_share"]
    return RoleWeightsForm(
        initial={
            "primary_percent": f"{share * 100:.2f}".rstrip("0").rstrip(".") if share is not None else "0",
            "applies_itself": answer["applies_itself"],
            "pause_min": answer["pause_s"] // 60,
            "absent": answer["on_return"] or answer["absent"],
        }
    )
