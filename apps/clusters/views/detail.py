"""Pages of one cluster: overview, events, revisions."""

from functools import partial
from typing import Any, TypedDict

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.drafts import draft_bar
from apps.clusters.queries.drift import DriftAnswer, drift_answer
from apps.clusters.queries.overview import EventAnswer, Overview, events, overview
from apps.clusters.queries.revision_history import revision_answers, revision_detail
from apps.clusters.queries.role_weights import proposed
from apps.clusters.queries.rollouts import rollout_answers
from apps.clusters.queries.unanswered import outlook

# What people choose between on the overview: seconds -> words.
WINDOWS = {300: "5 min", 900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h", 604800: "7 d"}
VERDICT_WINDOW_S = 300
# What replication lag is drawn in: of ?lag= -> words.
LAG_UNITS = {"seconds": "Lag in seconds", "bytes": "bytes"}
_EVENTS_ON_CHARTS = 8
_TABS_OF_DRAFTS = {"configuration", "weights", "functions"}


class ChartEvent(TypedDict):
    """An event that charts mark with its letter. t: seconds since 1970 UTC."""

    letter: str
    t: float
    text: str


def chosen_window(request: HttpRequest) -> int:
    """Seconds of the charts, from ?window=; an odd value gives the default, since a page is no API."""
    asked = request.GET.get("window", "")
    return next((seconds for seconds in WINDOWS if str(seconds) == asked), 900)


def chosen_lag_unit(request: HttpRequest) -> str:
    """As chosen_window, from ?lag=."""
    raw = request.GET.get("lag", "")
    return raw if raw in LAG_UNITS else "seconds"


def cluster_context(caller: Caller, cluster: Cluster, tab: str) -> dict[str, Any]:
    """What the head of every page of a cluster needs."""
    may_operate = caller.may(Role.OPERATOR)
    return {
        "cluster": cluster,
        "tab": tab,
        "draft_bar": draft_bar(caller=caller, cluster=cluster) if may_operate and tab in _TABS_OF_DRAFTS else None,
        "may_operate": may_operate,
        "may_admin": caller.may(Role.ADMIN),
        # Asked only where a page says it.
        "unanswered": partial(outlook, cluster=cluster),
    }


@require_GET
@page()
def cluster_overview(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    happened = events(cluster=cluster, before=None, limit=_EVENTS_ON_CHARTS)
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now())
    return render(
        request,
        "clusters/cluster_overview.html",
        {
            **cluster_context(caller, cluster, "overview"),
            "seen": seen,
            "drift": _drift(caller, cluster, seen),
            "by_role": proposed(cluster=cluster, now=timezone.now()),
            "windows": WINDOWS,
            "window_s": chosen_window(request),
            "lag_units": LAG_UNITS,
            "lag_unit": chosen_lag_unit(request),
            "children_unit": children_unit(seen),
            "happened": lettered(happened),
            "chart_events": chart_events(happened),
        },
    )


@require_GET
@page()
def cluster_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the overview changes with every poll."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now())
    context = {
        "seen": seen,
        "is_fragment": True,
        "drift": _drift(caller, cluster, seen),
        "by_role": proposed(cluster=cluster, now=timezone.now()),
    }
    return render(request, "clusters/_now.html", {**cluster_context(caller, cluster, "overview"), **context})


def _drift(caller: Caller, cluster: Cluster, seen: Overview) -> DriftAnswer | None:
    """What can be done about an edit by hand from here; asked only where there is one and this person may."""
    return drift_answer(caller=caller, cluster=cluster) if seen["is_drifted"] and caller.may(Role.OPERATOR) else None


@require_GET
@page()
def cluster_saturation(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=timezone.now())
    return render(request, "clusters/_saturation.html", {**cluster_context(caller, cluster, "overview"), "seen": seen})


@require_GET
@page()
def cluster_happened(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    happened = events(cluster=cluster, before=None, limit=_EVENTS_ON_CHARTS)
    context = {"happened": lettered(happened), "chart_events": chart_events(happened)}
    return render(request, "clusters/_happened.html", {**cluster_context(caller, cluster, "overview"), **context})


@require_GET
@page()
def cluster_events(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    before = request.GET.get("before", "")
    shown = events(cluster=cluster, before=row_key(before), limit=51)
    context = {"events": shown[:50], "older": shown[49]["id"] if len(shown) > 50 else None, "is_first": not before}
    return render(request, "clusters/cluster_events.html", {**cluster_context(caller, cluster, "events"), **context})


@require_GET
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


@require_GET
@page()
def cluster_revision(request: HttpRequest, caller: Caller, slug: str, number: int) -> HttpResponse:
    """One revision: what it changed, and its files with every secret masked."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    revision = revision_detail(revision=lookup.revision_of(cluster=cluster, number=number))
    context = {
        **cluster_context(caller, cluster, "history"),
        "revision": revision,
        "may_return": caller.may(Role.OPERATOR),
    }
    return render(request, "clusters/revision_detail.html", context)


def children_unit(seen: Overview) -> str:
    """What stands behind a count of children: "of 64" where all pgpools have room for as many."""
    totals = {instance["children_total"] for instance in seen["instances"]}
    total = totals.pop() if len(totals) == 1 else None
    return "in use" if total is None else f"of {total}"


def lettered(happened: list[EventAnswer]) -> list[tuple[str, EventAnswer]]:
    """Events with the letters that mark them on the charts: A is the oldest shown."""
    letters = [chr(ord("A") + position) for position in range(len(happened))]
    return list(zip(reversed(letters), happened, strict=True))


def chart_events(happened: list[EventAnswer]) -> list[ChartEvent]:
    return [
        ChartEvent(letter=letter, t=each["at"].timestamp(), text=each["title"]) for letter, each in lettered(happened)
    ]
