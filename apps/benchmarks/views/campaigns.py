"""Pages of campaigns: the list with its calendar, one with its trend, and what is done to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import campaigns
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.models import BenchmarkCampaign
from apps.benchmarks.queries.campaign_page import calendar_days, calendar_rows, labelled_rounds
from apps.benchmarks.queries.campaigns import campaign_of, campaigns_of, detail_answer, summary_answer

MOST_SHOWN = 200


@require_GET
@page()
def campaign_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    found, now = list(campaigns_of(caller=caller)[:MOST_SHOWN]), timezone.now()
    context = {
        "campaigns": [summary_answer(campaign=each, caller=caller) for each in found],
        "days": calendar_days(now=now),
        "rows": calendar_rows(found, now=now),
        "may_operate": caller.may(Role.OPERATOR),
    }
    return render(request, "benchmarks/campaign_list.html", context)


@require_GET
@page()
def campaign_detail(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    campaign = campaign_of(caller=caller, pk=pk)
    answer = detail_answer(campaign=campaign, caller=caller)
    context = {
        "campaign": answer,
        "rounds": labelled_rounds(answer),
        "plan": list(zip(answer["arms"], answer["plan"], strict=True)),
        "cluster_id": campaign.cluster_id,
    }
    return render(request, "benchmarks/campaign_detail.html", context)


@require_POST
@page(Role.OPERATOR)
def campaign_pause(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _done(request, caller, pk, lambda one: campaigns.pause(caller=caller, campaign=one), "It is paused.")


@require_POST
@page(Role.OPERATOR)
def campaign_resume(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    now = timezone.now()
    return _done(request, caller, pk, lambda one: campaigns.resume(caller=caller, campaign=one, now=now), "It goes on.")


@require_POST
@page(Role.OPERATOR)
def campaign_begin(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    now = timezone.now()
    return _done(
        request, caller, pk, lambda one: campaigns.begin_now(caller=caller, campaign=one, now=now), "A round has begun."
    )


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def campaign_remove(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """Asked for: what is lost. Posted: it is gone, its comparisons stay."""
    campaign = campaign_of(caller=caller, pk=pk)
    if request.method == "GET":
        context = {"campaign": summary_answer(campaign=campaign, caller=caller)}
        return render(request, "benchmarks/campaign_remove.html", context)
    campaigns.remove(caller=caller, campaign=campaign, now=timezone.now())
    messages.success(request, f"{campaign.name} is removed. Its comparisons stay.")
    return see_other("campaign-list", organisation=caller.organisation.slug)


def _done(
    request: HttpRequest, caller: Caller, pk: int, change: Callable[[BenchmarkCampaign], Any], said: str
) -> HttpResponse:
    try:
        change(campaign_of(caller=caller, pk=pk))
        messages.success(request, said)
    except RunRefused as error:
        messages.error(request, str(error))
    return see_other("campaign", organisation=caller.organisation.slug, pk=pk)
