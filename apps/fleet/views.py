"""Pages of the fleet: all clusters of an organisation, worst first."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.fleet import queries

# Saved views: the states that each shows.
VIEWS = {
    "all": ("All", ()),
    "need": ("Needs attention", ("crit", "warn", "stale")),
    "unseen": ("Not reporting", ("stale",)),
    "healthy": ("Healthy", ("ok",)),
}


@require_GET
@page()
def fleet(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _answer(request, caller, "fleet/fleet_list.html", is_fragment=False)


@require_GET
@page()
def fleet_table(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The figures and rows, refetched while the page is open."""
    return _answer(request, caller, "fleet/_fleet.html", is_fragment=True)


def _answer(request: HttpRequest, caller: Caller, template: str, *, is_fragment: bool) -> HttpResponse:
    seen = queries.fleet(organisation=caller.organisation, now=timezone.now())
    chosen = request.GET.get("view", "all")
    chosen = chosen if chosen in VIEWS else "all"
    states = VIEWS[chosen][1]
    words = request.GET.get("q", "").strip()
    counts = [
        (key, title, sum(not wanted or row["state"] in wanted for row in seen["rows"]))
        for key, (title, wanted) in VIEWS.items()
    ]
    rows = [row for row in seen["rows"] if not states or row["state"] in states]
    context = {
        "seen": seen,
        "rows": rows,
        "views": counts,
        "view": chosen,
        "q": words,
        "may_admin": caller.may(Role.ADMIN),
        "admins": [] if seen["rows"] else who_may(organisation=caller.organisation, role=Role.ADMIN),
        "is_fragment": is_fragment,
    }
    return render(request, template, context)


@require_GET
@page()
def sidebar(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The clusters beside every page; ?at= names the one that the page is about."""
    now = timezone.now()
    shown = queries.sidebar(organisation=caller.organisation, now=now)
    context = {"clusters": shown, "pollers": queries.pollers(now=now), "at": request.GET.get("at", "")}
    return render(request, "fleet/_sidebar.html", context)
