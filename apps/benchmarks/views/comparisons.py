"""Pages of comparisons: the list, one with its verdict, its figures as a file, stop."""

from __future__ import annotations

import csv
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import comparisons
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.models import BenchmarkComparison
from apps.benchmarks.queries import comparison_page, imported_beside
from apps.benchmarks.queries.comparison_detail import ComparisonDetail, detail_answer
from apps.benchmarks.queries.comparisons import comparison_of, comparisons_of, summary_answer
from apps.benchmarks.queries.imports import imports_of

SHOWN = 50
LONGEST_POSITION = 3  # digits
METRICS = (
    ("tps", "rate"),
    ("tps_with_connecting", "rate, connecting included"),
    ("new_orders_per_min", "new-order rate"),
    ("mean_ms", "mean latency"),
    ("p50_ms", "p50 latency"),
    ("p95_ms", "p95 latency"),
    ("p99_ms", "p99 latency"),
)


@require_GET
@page()
def comparison_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    found = comparisons_of(caller=caller)
    if (before := row_key(request.GET.get("before", ""))) is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: SHOWN + 1])
    context = {
        "comparisons": [summary_answer(comparison=each, caller=caller) for each in rows[:SHOWN]],
        "older": rows[SHOWN - 1].pk if len(rows) > SHOWN else None,
        "may_operate": caller.may(Role.OPERATOR),
    }
    return render(request, "benchmarks/comparison_list.html", context)


@require_GET
@page()
def comparison_detail(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    return _shown(request, caller, pk, "benchmarks/comparison_detail.html")


@require_GET
@page()
def comparison_now(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """What of the page changes while its runs go on."""
    return _shown(request, caller, pk, "benchmarks/_comparison_now.html")


@require_GET
@page()
def comparison_json(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """All of it, as by REST."""
    detail = _detail(request, caller, comparison_of(caller=caller, pk=pk))
    return _as_file(JsonResponse(detail, json_dumps_params={"indent": 2}), f"comparison-{pk}.json")


@require_GET
@page()
def comparison_csv(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """One line a run; with its new-order rate where the workload of one tells it."""
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    _write_csv(answer, _detail(request, caller, comparison_of(caller=caller, pk=pk)))
    return _as_file(answer, f"comparison-{pk}.csv")


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def comparison_stop(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """Asked for: what is lost. Posted: no run of it begins any more."""
    comparison = comparison_of(caller=caller, pk=pk)
    summary = summary_answer(comparison=comparison, caller=caller)
    if request.method == "GET":
        return render(request, "benchmarks/comparison_stop.html", {"comparison": summary, "refusal": ""})
    try:
        comparisons.stop(caller=caller, comparison=comparison, now=timezone.now())
    except RunRefused as error:
        context = {"comparison": summary, "refusal": str(error)}
        return render(request, "benchmarks/comparison_stop.html", context, status=409)
    messages.success(request, f"Comparison #{pk} is stopped. What was measured stays.")
    return see_other("comparison", organisation=caller.organisation.slug, pk=pk)


def _shown(request: HttpRequest, caller: Caller, pk: int, template: str) -> HttpResponse:
    comparison = comparison_of(caller=caller, pk=pk)
    detail = _detail(request, caller, comparison)
    latency = request.GET.get("latency", "")
    latency = latency if latency in comparison_page.LATENCIES else comparison_page.DEFAULT_LATENCY
    context = {
        "comparison": detail,
        "cluster_id": comparison.cluster_id,
        "arms": comparison_page.arm_rows(detail, latency=latency),
        "new_orders": comparison_page.new_order_rows(detail),
        "heat": comparison_page.heat(detail),
        "blocks": comparison_page.block_rows(detail),
        "figures": comparison_page.figure_rows(detail, METRICS),
        "latency": latency,
        "latency_label": comparison_page.LATENCIES[latency],
        "latencies": comparison_page.LATENCIES.items(),
        "importable": imported_beside.choices(caller=caller),
        "shown_beside": _beside_key(request),
        "query": request.GET.urlencode(),
        "base": detail["arms"][detail["shown_baseline"]],
    }
    return render(request, template, context)


def _detail(request: HttpRequest, caller: Caller, comparison: BenchmarkComparison) -> ComparisonDetail:
    """An odd baseline in the address counts as not chosen."""
    told = request.GET.get("baseline", "")
    baseline = (
        int(told) if told.isdecimal() and len(told) <= LONGEST_POSITION and int(told) < len(comparison.arms) else None
    )
    key = _beside_key(request)
    beside = None if key is None else imports_of(caller=caller).filter(pk=key).first()
    return detail_answer(comparison=comparison, caller=caller, baseline=baseline, beside=beside)


def _beside_key(request: HttpRequest) -> int | None:
    """One that is not there counts as not chosen, as a baseline does."""
    return row_key(request.GET.get("beside", ""))


def _as_file(answer: HttpResponse, name: str) -> HttpResponse:
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _write_csv(answer: Any, detail: ComparisonDetail) -> None:
    lines = csv.writer(answer)
    told = [run["new_orders_per_min"] for arm in detail["arms_compared"] for run in arm["runs"]]
    has_new_orders = any(each is not None for each in told)
    names = ["comparison", "arm", "workload", "topology", "clients", "block", "run", "state", "counts", "tps", "p95_ms"]
    lines.writerow([*names, "new_orders_per_min"] if has_new_orders else names)
    for arm in detail["arms_compared"]:
        for run in arm["runs"]:
            lines.writerow(
                [
                    detail["id"],
                    _plain(arm["label"]),
                    arm["workload"],
                    arm["topology"],
                    arm["clients"],
                    run["block"],
                    run["id"],
                    run["state"],
                    int(run["counts"]),
                    run["tps"],
                    run["p95_ms"],
                    *([run["new_orders_per_min"]] if has_new_orders else []),
                ]
            )


def _plain(text: str) -> str:
    """A spreadsheet takes a text that begins so for a formula."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
