"""The page that puts every pgpool's view of every backend beside PostgreSQL's own truth."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.clusters.queries import lookup
from apps.clusters.queries.disagreements import DisagreementsAnswer, disagreements_answer
from apps.clusters.queries.watchdog import WatchdogAnswer
from apps.clusters.views.detail import cluster_context


@require_GET
@page()
def cluster_disagreements(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _shown(request, caller, slug, "clusters/cluster_disagreements.html")


@require_GET
@page()
def cluster_disagreements_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes with every poll."""
    return _shown(request, caller, slug, "clusters/_disagreements.html")


def _shown(request: HttpRequest, caller: Caller, slug: str, template: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    answer = disagreements_answer(cluster=cluster, now=timezone.now())
    context = {**cluster_context(caller, cluster, "disagreements"), "answer": answer, "rows": _rows(answer)}
    context["watchdog_rows"] = _watchdog_rows(answer["watchdog"])
    return render(request, template, context)


def _rows(answer: DisagreementsAnswer) -> list[dict[str, Any]]:
    """A backend and its cells, in the order of the columns."""
    return [
        {"backend": each, "cells": [cell for cell in answer["cells"] if cell["node_id"] == each["node_id"]]}
        for each in answer["backends"]
    ]


def _watchdog_rows(answer: WatchdogAnswer) -> list[dict[str, Any]]:
    """A pgpool and what each watchdog says of it, in the order of the columns."""
    holders = {view["instance"] for view in answer["views"] if view["holds_address"] and view["is_current"]}
    return [
        {
            "member": each,
            "cells": [
                {**cell, "holds_address": cell["instance"] == each["name"] and each["name"] in holders}
                for cell in answer["cells"]
                if cell["member"] == each["name"]
            ],
        }
        for each in answer["members"]
    ]
