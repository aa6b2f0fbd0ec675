"""Pages of rollouts: one with its matrix and log, the list of the organisation, roll back, cancel."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters import rollouts, weight_change
from apps.clusters.models import Rollout
from apps.clusters.queries import lookup
from apps.clusters.queries.rollout_reads import reads_groups
from apps.clusters.queries.rollouts import organisation_rollouts, rollout_answer
from apps.clusters.views.detail import cluster_context


@require_GET
@page()
def rollout_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    before = row_key(request.GET.get("before", ""))
    shown = organisation_rollouts(caller=caller, before=before, limit=51, now=timezone.now())
    older = shown[49]["id"] if len(shown) > 50 else None
    return render(request, "clusters/rollout_list.html", {"rollouts": shown[:50], "older": older})


@require_GET
@page()
def rollout_detail(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _answer(request, caller, pk, "clusters/rollout_detail.html")


@require_GET
@page()
def rollout_now(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """What of the page changes while the rollout goes on."""
    return _answer(request, caller, pk, "clusters/_rollout_now.html")


def _answer(request: HttpRequest, caller: Caller, pk: int, template: str) -> HttpResponse:
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    answer = rollout_answer(rollout=rollout, caller=caller, now=timezone.now())
    names = {backend.node_id: backend.shown_name for backend in rollout.cluster.backends.all()}
    context = {**cluster_context(caller, rollout.cluster, "history"), "rollout": answer}
    context["reads"] = reads_groups(answer, names)
    return render(request, template, {**context, "is_active": rollout.state in Rollout.ACTIVE})


@require_POST
@page(Role.OPERATOR)
def rollout_rollback(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    try:
        rollback = rollouts.request_rollback(caller=caller, rollout=rollout, now=timezone.now())
    except (rollouts.RolloutRefused, weight_change.WeightsRefused, weight_change.RolloutRunning) as error:
        messages.error(request, str(error))
        return see_other("rollout", organisation=caller.organisation.slug, pk=pk)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollback.pk)


@require_POST
@page(Role.OPERATOR)
def rollout_cancel(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    try:
        rollouts.cancel(caller=caller, rollout=rollout, now=timezone.now())
    except rollouts.RolloutRefused as error:
        messages.error(request, str(error))
    return see_other("rollout", organisation=caller.organisation.slug, pk=pk)
