"""What a pgpool owes: given, or let go, by a click."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import debt_settlement
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.queries import lookup


@require_POST
@page(Role.OPERATOR)
def debt_give(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    debt = lookup.debt_of(cluster=cluster, pk=pk)
    try:
        rollout = debt_settlement.give(caller=caller, debt=debt, now=timezone.now())
    except RolloutRunning as error:
        messages.warning(request, str(error))
        return see_other("rollout", organisation=caller.organisation.slug, pk=error.rollout_id)
    except WeightsRefused as error:
        messages.error(request, f"Nothing was changed. {error}")
        return see_other("cluster", organisation=caller.organisation.slug, slug=cluster.slug)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


@require_POST
@page(Role.OPERATOR)
def debt_forgive(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    debt = lookup.debt_of(cluster=cluster, pk=pk)
    try:
        debt_settlement.forgive(caller=caller, debt=debt, now=timezone.now())
        messages.success(request, f"{debt.instance.name} owes nothing any more. Nothing was changed there.")
    except debt_settlement.DebtRefused as error:
        messages.error(request, str(error))
    return see_other("cluster", organisation=caller.organisation.slug, slug=cluster.slug)
