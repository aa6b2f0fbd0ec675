"""Pages of rollouts: one with its matrix and log, the list of the organisation, roll back, cancel, pause."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import rollout_holds, rollouts, weight_change
from apps.clusters.domain.rollout_waves import PlanError
from apps.clusters.domain.routing_words import listed
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Rollout
from apps.clusters.queries import lookup
from apps.clusters.queries.receipts import receipts_answer
from apps.clusters.queries.revision_history import owed_diffs, passed_by, rollout_diffs
from apps.clusters.queries.rollout_reads import reads_groups
from apps.clusters.queries.rollout_words import adoption_words
from apps.clusters.queries.rollouts import organisation_rollouts, rollout_answer
from apps.clusters.queries.unanswered import outlook
from apps.clusters.queries.weight_words import backend_names
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
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    owed, unwritten, diffs = owed_diffs(rollout=rollout), passed_by(rollout=rollout), rollout_diffs(rollout=rollout)
    shown = {
        "diffs": diffs,
        "unwritten": listed(unwritten),
        "is_unwritten": bool(diffs) and {each["instance"] for each in diffs} <= set(unwritten),
        "owed_diffs": owed,
        **adoption_words(rollout),
        "is_owed": any(each["debt"] is None or each["debt"]["state"] == "open" for each in owed),
    }
    return _answer(request, caller, pk, "clusters/rollout_detail.html", shown)


@require_GET
@page()
def rollout_receipts(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """The receipts as a file, to keep beside a change request."""
    answer = JsonResponse(
        receipts_answer(rollout=lookup.rollout_of(caller=caller, pk=pk)), json_dumps_params={"indent": 2}
    )
    answer["Content-Disposition"] = f'attachment; filename="rollout-{pk}-receipts.json"'
    return answer


@require_GET
@page()
def rollout_now(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """What of the page changes while the rollout goes on."""
    return _answer(request, caller, pk, "clusters/_rollout_now.html")


def _answer(
    request: HttpRequest, caller: Caller, pk: int, template: str, extra: Mapping[str, Any] | None = None
) -> HttpResponse:
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    answer = rollout_answer(rollout=rollout, caller=caller, now=timezone.now())
    context = {**cluster_context(caller, rollout.cluster, "history"), "rollout": answer, **(extra or {})}
    context["receipts"] = receipts_answer(rollout=rollout)
    context["reads"] = reads_groups(answer, backend_names(cluster=rollout.cluster))
    return render(request, template, {**context, "is_active": rollout.state in Rollout.ACTIVE})


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def rollout_rollback(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """Asked for: what rolling back would write. Posted: the rollout that does it."""
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    names, usual = rollouts.names_back(rollout), rollouts.plan_back(rollout)
    instances = rollout.cluster.instances.filter(name__in=names).defer("pcp_password").order_by("name")
    plan_form = PlanForm.of_instances(rollout.cluster, instances, request.POST, usual=usual, goes_past_failures=True)
    if request.method == "GET":
        return _rollback_page(request, caller, rollout, plan_form)
    if plan_form.is_refused:
        return _rollback_page(request, caller, rollout, plan_form, status=422)
    try:
        rollback = rollouts.request_rollback(caller=caller, rollout=rollout, plan=plan_form.plan, now=timezone.now())
    except PlanError as error:
        plan_form.refuse(error)
        return _rollback_page(request, caller, rollout, plan_form, status=422)
    except (rollouts.RolloutRefused, weight_change.WeightsRefused, weight_change.RolloutRunning) as error:
        messages.error(request, str(error))
        return see_other("rollout", organisation=caller.organisation.slug, pk=pk)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollback.pk)


def _rollback_page(
    request: HttpRequest, caller: Caller, rollout: Rollout, plan_form: PlanForm, status: int = 200
) -> HttpResponse:
    answer = rollout_answer(rollout=rollout, caller=caller, now=timezone.now())
    context = {
        **cluster_context(caller, rollout.cluster, "history"),
        "rollout": answer,
        "diffs": rollout_diffs(rollout=rollout, is_back=True) if answer["can_roll_back"] else [],
        "plan_form": plan_form,
        "unanswered": partial(
            outlook, cluster=rollout.cluster, goes_past_failures=True, names=plan_form.instance_names
        ),
        "refusal": "How to roll out: look at what is marked there." if plan_form.is_refused else "",
    }
    return render(request, "clusters/rollout_rollback.html", context, status=status)


@require_POST
@page(Role.OPERATOR)
def rollout_cancel(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _changed(request, caller, pk, rollouts.cancel)


@require_POST
@page(Role.OPERATOR)
def rollout_pause(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _changed(request, caller, pk, rollout_holds.pause)


@require_POST
@page(Role.OPERATOR)
def rollout_resume(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _changed(request, caller, pk, rollout_holds.resume)


def _changed(request: HttpRequest, caller: Caller, pk: int, change: Callable[..., object]) -> HttpResponse:
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    try:
        change(caller=caller, rollout=rollout, now=timezone.now())
    except (rollouts.RolloutRefused, rollout_holds.PauseRefused) as error:
        messages.error(request, str(error))
    return see_other("rollout", organisation=caller.organisation.slug, pk=pk)
