"""Pages of one cluster: overview, events, revisions."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.overview import EventAnswer, events, overview
from apps.clusters.queries.rollouts import revision_answers, rollout_answers

# What people choose between on the overview: seconds -> words.
WINDOWS = {900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h", 604800: "7 d"}
VERDICT_WINDOW_S = 300
_EVENTS_ON_CHARTS = 6


def chosen_window(request: HttpRequest) -> int:
    """Seconds of the charts, from ?window=; an odd value gives the default, since a page is no API."""
    raw = request.GET.get("window", "")
    return int(raw) if raw.isascii() and raw.isdigit() and int(raw) in WINDOWS else 900


def cluster_context(caller: Caller, cluster: Cluster, tab: str) -> dict[str, Any]:
    """What the head of every page of a cluster needs."""
    return {"cluster": cluster, "tab": tab, "may_operate": caller.may(Role.OPERATOR), "may_admin": caller.may(Role.ADMIN)}


@page()
def cluster_overview(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    happened = events(cluster=cluster, before=None, limit=_EVENTS_ON_CHARTS)
    return render(
        request,
        "clusters/cluster_overview.html",
        {
            **cluster_context(caller, cluster, "overview"),
            "seen": overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now()),
            "windows": WINDOWS,
            "window_s": chosen_window(request),
            "happened": lettered(happened),
            "chart_events": chart_events(happened),
        },
    )


@page()
def cluster_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the overview changes with every poll."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now())
    return render(request, "clusters/_now.html", {**cluster_context(caller, cluster, "overview"), "seen": seen})


@page()
def cluster_saturation(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now())
    return render(request, "clusters/_saturation.html", {**cluster_context(caller, cluster, "overview"), "seen": seen})


@page()
def cluster_happened(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    happened = events(cluster=cluster, before=None, limit=_EVENTS_ON_CHARTS)
    context = {"happened": lettered(happened), "chart_events": chart_events(happened)}
    return render(request, "clusters/_happened.html", {**cluster_context(caller, cluster, "overview"), **context})


@page()
def cluster_events(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    before = request.GET.get("before", "")
    shown = events(cluster=cluster, before=int(before) if before.isdecimal() else None, limit=51)
    context = {"events": shown[:50], "older": shown[49]["id"] if len(shown) > 50 else None, "is_first": not before}
    return render(request, "clusters/cluster_events.html", {**cluster_context(caller, cluster, "events"), **context})


@page()
def cluster_history(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Revisions and rollouts of a cluster."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    return render(
        request,
        "clusters/cluster_history.html",
        {
            **cluster_context(caller, cluster, "history"),
            "rollouts": rollout_answers(cluster=cluster, caller=caller, before=None, limit=50, now=timezone.now()),
            "revisions": revision_answers(cluster=cluster, before=None, limit=50),
        },
    )


def lettered(happened: list[EventAnswer]) -> list[tuple[str, EventAnswer]]:
    """Events with the letters that mark them on the charts: A is the oldest shown."""
    letters = [chr(ord("A") + position) for position in range(len(happened))]
    return list(zip(reversed(letters), happened, strict=True))


def chart_events(happened: list[EventAnswer]) -> list[dict[str, Any]]:
    return [{"letter": letter, "t": each["at"].timestamp(), "text": each["title"]} for letter, each in lettered(happened)]
