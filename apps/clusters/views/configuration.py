"""The page of all parameters: what each pgpool's pgpool.conf says and runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.clusters.models import Cluster
from apps.clusters.queries import configuration, lookup
from apps.clusters.queries.configuration import ParameterAnswer, PgpoolSeen
from apps.clusters.views.detail import cluster_context

VIEWS = {
    "all": "All",
    "changed": "Changed from the default",
    "differs": "Differs between pgpools",
    "waiting": "Not in use yet",
}


@require_GET
@page()
def cluster_configuration(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    return render(request, "clusters/cluster_configuration.html", _context(request, caller, cluster))


@require_GET
@page()
def cluster_configuration_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """The rows alone, refetched when something was seen to change."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    context = {**_context(request, caller, cluster), "is_fragment": True}
    return render(request, "clusters/_configuration.html", context)


def _context(request: HttpRequest, caller: Caller, cluster: Cluster) -> dict[str, Any]:
    answer = configuration.configuration_answer(cluster=cluster)
    show = request.GET.get("show", "all")
    show = show if show in VIEWS else "all"
    words = request.GET.get("q", "").strip()
    every = answer["results"]
    titles = {one["group"]: one["group_title"] for one in every}
    group = request.GET.get("group", "")
    group = group if group in titles else ""
    in_view = configuration.chosen(every, words="", group=group, show=show)
    found = {one["name"] for one in configuration.chosen(in_view, words=words, group="", show="all")}
    head = cluster_context(caller, cluster, "configuration")
    counts = {key: len(configuration.chosen(every, words="", group="", show=key)) for key in VIEWS}
    return {
        **head,
        "may_draft": head["may_operate"] and not cluster.is_observed,
        "groups": _groups(in_view, found, is_open=bool(words or group) or show != "all" or "open" in request.GET),
        "titles": list(titles.items()),
        "group": group,
        "pgpools": answer["pgpools"],
        "views": [(key, title, counts[key]) for key, title in VIEWS.items()],
        "show": show,
        "q": words,
        "shown": len(found),
        "total": len(in_view),
        "seen_at": min((when for one in answer["pgpools"] if (when := seen_at(one))), default=None),
    }


def seen_at(pgpool: PgpoolSeen) -> datetime | None:
    """When its file was read latest; of one whose file nobody reads, when it showed what it runs."""
    return pgpool["file_seen_at"] or pgpool["running_seen_at"]


def _groups(answers: Sequence[ParameterAnswer], found: set[str], *, is_open: bool) -> list[dict[str, Any]]:
    """Groups in their order, each with its rows; a row that the words do not find is there and hidden."""
    groups: dict[str, list[ParameterAnswer]] = {}
    for one in answers:
        groups.setdefault(one["group"], []).append(one)
    return [
        {
            "name": name,
            "title": members[0]["group_title"],
            "rows": [_row(one, found) for one in members],
            "changed": sum(one["is_changed"] for one in members),
            "differs": sum(one["differs"] for one in members),
            "waiting": sum(map(configuration.is_waiting, members)),
            "is_open": is_open,
        }
        for name, members in groups.items()
    ]


def _row(one: ParameterAnswer, found: set[str]) -> dict[str, Any]:
    values = configuration.uniform(one)
    return {
        "parameter": one,
        "values": values,
        "is_uniform": len(values) == 1,
        "haystack": configuration.haystack(one),
        "is_hidden": one["name"] not in found,
    }
