"""Pages that begin a comparison, or a campaign of them: what is chosen is the same, a campaign also says when."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import campaigns, comparisons
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain.comparison_plan import PlanRefused
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.workloads import LOADS
from apps.benchmarks.forms.comparison import CampaignForm, ComparisonForm
from apps.benchmarks.queries.run_start import Start, start_of
from apps.clusters.control.writes import NotAllowed
from apps.clusters.queries import lookup


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def comparison_start(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _asked(request, caller, ComparisonForm)


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def campaign_start(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _asked(request, caller, CampaignForm)


@require_GET
@page(Role.OPERATOR)
def comparison_outlook(request: HttpRequest, caller: Caller) -> HttpResponse:
    """How long what the form holds now would take."""
    form = _form(request, caller, ComparisonForm, request.GET)
    outlook = None
    if form is not None and form.is_valid():
        arms = form.wanted_comparison()["arms"]
        blocks = form.cleaned_data["repetitions"] + 1
        each = form.cleaned_data["duration_s"] + (form.cleaned_data["warm_up_s"] or 0)
        outlook = {"arms": len(arms), "runs": len(arms) * blocks, "seconds": len(arms) * blocks * each}
    return render(request, "benchmarks/_comparison_outlook.html", {"outlook": outlook})


def _form(request: HttpRequest, caller: Caller, kind: type[ComparisonForm], data: object) -> ComparisonForm | None:
    start = _start(request, caller)
    if start.cluster is None or start.limits is None:
        return None
    return kind(data, workload=start.workload, choices=start.choices, limits=start.limits)  # type: ignore[arg-type]


def _start(request: HttpRequest, caller: Caller) -> Start:
    cluster = request.GET.get("cluster", "")
    if cluster:
        lookup.cluster_of(caller=caller, slug=cluster)
    return start_of(caller=caller, cluster=cluster, workload=request.GET.get("workload", ""), run=None)


def _asked(request: HttpRequest, caller: Caller, kind: type[ComparisonForm]) -> HttpResponse:
    start = _start(request, caller)
    form = _form(request, caller, kind, request.POST if request.method == "POST" else None)
    if form is None or start.cluster is None:
        return _page(request, caller, start, kind, None, status=200 if request.method == "GET" else 409)
    if request.method == "GET":
        form.keep(request.GET)
        return _page(request, caller, start, kind, form)
    if not form.is_valid():
        return _page(request, caller, start, kind, form, status=422)
    try:
        if isinstance(form, CampaignForm):
            campaign = campaigns.create(
                caller=caller, cluster=start.cluster, now=timezone.now(), **form.wanted_campaign()
            )
            return see_other("campaign", organisation=caller.organisation.slug, pk=campaign.pk)
        comparison = comparisons.request(caller=caller, cluster=start.cluster, **form.wanted_comparison())
    except (WishRefused, PlanRefused) as error:
        form.refuse(error)
        return _page(request, caller, start, kind, form, status=422)
    except (RunRefused, NotAllowed) as error:
        return _page(request, caller, start, kind, form, refusal=str(error), status=409)
    return see_other("comparison", organisation=caller.organisation.slug, pk=comparison.pk)


def _page(
    request: HttpRequest,
    caller: Caller,
    start: Start,
    kind: type[ComparisonForm],
    form: ComparisonForm | None,
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "start": start,
        "form": form,
        "is_campaign": kind is CampaignForm,
        "refusal": refusal or start.why_not,
        "workloads": LOADS,
        "may_admin": caller.may(Role.ADMIN),
        "admins": who_may(organisation=caller.organisation, role=Role.ADMIN) if form is None else [],
    }
    return render(request, "benchmarks/comparison_start.html", context, status=status)
