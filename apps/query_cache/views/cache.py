"""The page of a cluster's query cache: whether it pays, and the calibration that tells."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import runs
from apps.benchmarks.control.runs import NotAllowedHere, RunRefused
from apps.benchmarks.domain.cache_calibration import WORKLOAD
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.scratch_conf import SHMEM
from apps.benchmarks.domain.topologies import SCRATCH
from apps.benchmarks.models import BenchmarkAccess
from apps.benchmarks.queries import targets
from apps.clusters.control.writes import NotAllowed
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.views.detail import cluster_context
from apps.query_cache.forms.calibration import CalibrationForm
from apps.query_cache.forms.tables import TablesForm
from apps.query_cache.views.tables_context import tables_context
from apps.query_cache.views.warm_up import warm_up_context

AXES = {"operating": "Of the moment", "cumulative": "Since the start"}
STORAGES = {"shmem": "Shared memory", "memcached": "memcached", "both": "Both"}


@require_http_methods(["GET", "POST"])
@page()
def cluster_cache(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Posted: a calibration is queued."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    if request.method == "GET":
        return cache_page(request, caller, cluster)
    caller.require(Role.OPERATOR)
    form = CalibrationForm(request.POST)
    if not form.is_valid():
        return cache_page(request, caller, cluster, form, status=422)
    try:
        runs.request(caller=caller, cluster=cluster, workload=WORKLOAD, topology=SCRATCH, **form.wanted())
    except WishRefused as error:
        form.refuse(error)
        return cache_page(request, caller, cluster, form, status=422)
    except (RunRefused, NotAllowedHere, NotAllowed) as error:
        messages.error(request, str(error))
    return see_other("cluster-cache", organisation=caller.organisation.slug, slug=slug)


@require_GET
@page()
def cluster_cache_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes with every poll, and while a calibration goes on."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    return render(request, "query_cache/_cache_now.html", {**_now(request, caller, cluster)})


@require_GET
@page()
def cluster_cache_published(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """The published example, beside which the cluster's own curve can be held."""
    from apps.query_cache.queries.published import published_answer

    cluster = lookup.cluster_of(caller=caller, slug=slug)
    axis = request.GET.get("axis", "")
    context = {
        **cluster_context(caller, cluster, "cache"),
        "published": published_answer(),
        "axis": axis if axis in AXES else "cumulative",
        "axes": AXES,
    }
    return render(request, "query_cache/cache_published.html", context)


def cache_page(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    form: CalibrationForm | None = None,
    *,
    tables_form: TablesForm | None = None,
    status: int = 200,
) -> HttpResponse:
    warm_up = warm_up_context(request, cluster)
    if warm_up["warm_up_form"].errors:
        status = 422
    context = {
        **_now(request, caller, cluster),
        **warm_up,
        "form": form or CalibrationForm(),
        **tables_context(caller, cluster, tables_form),
        "is_allowed": BenchmarkAccess.objects.filter(cluster=cluster, is_on=True).exists(),
        "copied_from": targets.copied_from(cluster),
    }
    return render(request, "query_cache/cluster_cache.html", context, status=status)


def _now(request: HttpRequest, caller: Caller, cluster: Cluster) -> dict[str, Any]:
    # scipy takes half a second and 40 MB, which no other request should pay for.
    from apps.query_cache.queries.cache import cache_answer
    from apps.query_cache.queries.calibrations import calibration_answer, calibrations_of

    calibrations = [calibration_answer(run) for run in calibrations_of(cluster=cluster)]
    cache = cache_answer(caller=caller, cluster=cluster, now=timezone.now())
    axis, storage = request.GET.get("axis", ""), request.GET.get("storage", "")
    curves = cache["calibration"]["curves"] if cache["calibration"] else []
    measured = [curve["storage"] for curve in curves]
    written = cache["under_writes"]["curves"] if cache["under_writes"] else []
    usual = measured[0] if len(measured) == 1 else "both" if measured else cache["storage"]
    return {
        **cluster_context(caller, cluster, "cache"),
        "cache": cache,
        "calibrations": calibrations,
        "under_way": next((one for one in calibrations if one["is_active"]), None),
        "axis": axis if axis in AXES else "operating",
        "axes": AXES,
        "storage": storage if storage in {*measured, "both"} else usual,
        "storages": {key: words for key, words in STORAGES.items() if key in measured or key == "both"}
        if len(measured) > 1
        else {},
        "state": cache["verdict"]["state"],
        "old": [curve for curve in written if curve["stale_keys"]],
        "old_in_shared": any(curve["stale_keys"] for curve in written if curve["storage"] == SHMEM),
    }
