"""The page that edits weights: preview, diff, start."""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import weight_change
from apps.clusters.domain.weights import WeightError, parse_weight_texts, shares
from apps.clusters.forms.refusals import sentence
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.editing import editor, weights_answer
from apps.clusters.queries.overview import overview
from apps.clusters.views.detail import VERDICT_WINDOW_S, cluster_context


@require_http_methods(["GET", "POST"])
@page()
def weights_editor(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    if request.method == "POST":
        return _start(request, caller, cluster)
    return _editor_page(request, caller, cluster)


@require_GET
@page()
def weights_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """The editor, for a page that was opened before any pgpool had shown its weights; nothing (204) until one has."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    if not weights_answer(cluster=cluster, now=timezone.now())["is_known"]:
        return HttpResponse(status=204)
    return render(request, "clusters/_weights_editor.html", _editor_context(request, caller, cluster))


@require_POST
@page(Role.OPERATOR)
def weights_preview(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """The diff of each pgpool.conf for the weights in the form; a fragment."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    context: dict[str, Any] = cluster_context(caller, cluster, "weights")
    try:
        weights, plan = weights_in_form(request.POST, cluster), PlanForm.of_cluster(cluster, request.POST).plan
        context["preview"] = weight_change.preview(cluster=cluster, weights=weights, per_instance=None, plan=plan)
    except (WeightError, weight_change.WeightsRefused) as error:
        context["refusal"] = refusal_of(error, cluster)
    except weight_change.BaseChanged as error:
        context["changed"] = error
    return render(request, "clusters/_preview.html", context)


def _start(request: HttpRequest, caller: Caller, cluster: Cluster) -> HttpResponse:
    caller.require(Role.OPERATOR)
    note, plan_form = request.POST.get("note", ""), PlanForm.of_cluster(cluster, request.POST)
    given = {"note": note, "plan_form": plan_form}
    if plan_form.is_refused:
        refused = {**given, "refusal": "How to roll out: look at what is marked there."}
        return _editor_page(request, caller, cluster, refused, status=422)
    try:
        rollout = weight_change.request_weights(
            caller=caller,
            cluster=cluster,
            weights=weights_in_form(request.POST, cluster),
            per_instance=None,
            note=note,
            base=request.POST.get("base", weight_change.KNOWN),
            plan=plan_form.plan,
            now=timezone.now(),
        )
    except weight_change.RolloutRunning as error:
        messages.warning(request, refusal_of(error, cluster))
        return see_other("rollout", organisation=caller.organisation.slug, pk=error.rollout_id)
    except weight_change.BaseChanged as error:
        return _editor_page(request, caller, cluster, {"changed": error, **given}, status=409)
    except (WeightError, weight_change.WeightsRefused) as error:
        return _editor_page(request, caller, cluster, {"refusal": refusal_of(error, cluster), **given}, status=422)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


def _editor_page(
    request: HttpRequest, caller: Caller, cluster: Cluster, extra: Mapping[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    context = {**_editor_context(request, caller, cluster), **(extra or {})}
    return render(request, "clusters/cluster_weights.html", context, status=status)


def _editor_context(request: HttpRequest, caller: Caller, cluster: Cluster) -> dict[str, Any]:
    now = timezone.now()
    seen = overview(cluster=cluster, window_s=VERDICT_WINDOW_S, now=now)
    edited = editor(caller=caller, cluster=cluster, seen=seen, wanted=_wanted(request, cluster), now=now)
    return {
        **cluster_context(caller, cluster, "weights"),
        "seen": seen,
        "editor": edited,
        "reads_per_s": _reads_per_s(seen["distribution"]["reads"], seen["distribution"]["seconds"]),
        "plan_form": PlanForm.of_cluster(cluster),
        "previous_json": json.dumps(edited["previous"]) if edited["previous"] else "",
        # What was typed in a form that was refused must not be swapped away.
        "awaits_weights": request.method == "GET" and not edited["weights"]["is_known"],
        "query": request.GET.urlencode(),
    }


def _wanted(request: HttpRequest, cluster: Cluster) -> dict[int, float]:
    """Shares given in the address or in a refused form, to show them again: ?weight_0=0&weight_1=50&weight_2=50."""
    try:
        given = weights_in_form(request.POST if request.method == "POST" else request.GET, cluster)
        return shares({int(node_id): weight for node_id, weight in given.items()})
    except WeightError:
        return {}


def weights_in_form(form: Mapping[str, Any], cluster: Cluster) -> dict[str, float]:
    """The form's figures: percent or any other numbers of the same ratio."""
    texts = {name.removeprefix("weight_"): str(form[name]) for name in form if name.startswith("weight_")}
    known = list(cluster.backends.order_by("node_id").values_list("node_id", flat=True))
    return {str(node_id): weight for node_id, weight in parse_weight_texts(texts, known).items()}


def _reads_per_s(reads: int, seconds: float) -> float | None:
    return reads / seconds if seconds > 0 else None


def refusal_of(error: Exception, cluster: Cluster) -> str:
    """What a story refused, in a sentence; a backend by its name, not by its field."""
    if not isinstance(error, WeightError):
        return sentence(str(error))
    names = {f"weights.{backend.node_id}": backend.shown_name for backend in cluster.backends.order_by("node_id")}
    names |= {"note": "The note", "base": "The base"}
    return f"{names.get(error.field, 'The weights')}{str(error).removeprefix(error.field)}."
