"""The page that sets the weights of each pgpool on its own, on purpose."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import drafts, weight_change
from apps.clusters.control.draft_rows import Draft
from apps.clusters.control.parameter_change import ParametersRefused
from apps.clusters.domain.routing_words import listed
from apps.clusters.domain.weights import WeightError, parse_weight_texts
from apps.clusters.forms.refusals import sentence
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.editing_each import each_editor, field_of, kept_field_of, text_of
from apps.clusters.views.detail import cluster_context


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def weights_each(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Asked for: the weights of now, with ?propose=own-az those that prefer a pgpool's zone, with ?propose=draft those
    that are drafted. Posted: a rollout.
    """
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    if request.method == "GET":
        return _shown(request, caller, cluster)
    plan_form = PlanForm.of_cluster(cluster, request.POST)
    if plan_form.is_refused:
        said = "How to roll out: look at what is marked there."
        return _shown(request, caller, cluster, refusal=said, status=422)
    try:
        rollout = weight_change.request_weights(
            caller=caller,
            cluster=cluster,
            per_instance=_weights(request.POST, cluster),
            note=request.POST.get("note", ""),
            base=request.POST.get("base", weight_change.KNOWN),
            plan=plan_form.plan,
            now=timezone.now(),
        )
    except WeightError as error:
        return _shown(request, caller, cluster, refusal=_refusal(error, cluster), status=422)
    except weight_change.BaseChanged as error:
        return _shown(request, caller, cluster, changed=error, status=409)
    except (weight_change.RolloutRunning, weight_change.WeightsRefused) as error:
        return _shown(request, caller, cluster, refusal=sentence(str(error)), status=409)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


@require_POST
@page(Role.OPERATOR)
def draft_weights_each(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """From the same form: its weights, as part of the draft; not of a pgpool that was undrafted and left as is."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    try:
        left = _left_as_shown(request.POST, cluster)
        weights = {name: each for name, each in _weights(request.POST, cluster).items() if name not in left}
        drafts.put_own_weights(caller=caller, cluster=cluster, weights=weights, now=timezone.now())
    except WeightError as error:
        return _shown(request, caller, cluster, refusal=_refusal(error, cluster), status=422)
    except ParametersRefused as error:
        return _shown(request, caller, cluster, refusal=sentence(str(error)), status=422)
    return see_other("cluster-draft", organisation=caller.organisation.slug, slug=cluster.slug)


def _shown(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    *,
    refusal: str = "",
    changed: weight_change.BaseChanged | None = None,
    status: int = 200,
) -> HttpResponse:
    propose = request.GET.get("propose")
    prefers_own_az = propose == "own-az"
    typed = {name: str(value) for name, value in request.POST.items()}
    draft = drafts.draft_of(caller=caller, cluster=cluster)
    is_drafted = propose == "draft" and (draft.weights is not None or bool(draft.weights_per_instance))
    undrafted = _undrafted(draft, cluster) if is_drafted else []
    if is_drafted and not typed:
        typed = _drafted(draft, cluster)
    context: dict[str, Any] = {
        **cluster_context(caller, cluster, "weights"),
        "each": each_editor(
            cluster=cluster, prefers_own_az=prefers_own_az, typed=typed, undrafted=undrafted, now=timezone.now()
        ),
        "prefers_own_az": prefers_own_az,
        "is_drafted": is_drafted,
        "undrafted": listed(undrafted),
        "refusal": refusal,
        "changed": changed,
        "note": typed.get("note", ""),
        "plan_form": PlanForm.of_cluster(cluster, request.POST),
    }
    return render(request, "clusters/cluster_weights_each.html", context, status=status)


def _undrafted(draft: Draft, cluster: Cluster) -> list[str]:
    """The pgpools whose weights the draft leaves as they are."""
    if draft.weights is not None:
        return []
    names = cluster.instances.order_by("name").values_list("name", flat=True)
    return [name for name in names if name not in draft.weights_per_instance]


def _left_as_shown(form: Mapping[str, Any], cluster: Cluster) -> set[str]:
    """Names of the undrafted pgpools whose weights nobody changed in the form."""
    node_ids = list(cluster.backends.values_list("node_id", flat=True))
    return {
        name
        for pk, name in cluster.instances.order_by("pk").values_list("pk", "name")
        if all(
            kept_field_of(pk, node_id) in form
            and form[kept_field_of(pk, node_id)] == form.get(field_of(pk, node_id), "")
            for node_id in node_ids
        )
    }


def _drafted(draft: Draft, cluster: Cluster) -> dict[str, str]:
    """As the form's fields; those of a pgpool that keeps its weights are left out."""
    return {
        field_of(pk, int(node_id)): text_of(weight)
        for pk, name in cluster.instances.order_by("pk").values_list("pk", "name")
        for node_id, weight in draft.weights_per_instance.get(name, draft.weights or {}).items()
    }


def _weights(form: Mapping[str, Any], cluster: Cluster) -> dict[str, dict[str, float]]:
    """Pgpool name -> node_id -> weight. Raises WeightError with the pgpool and the backend named."""
    node_ids = list(cluster.backends.order_by("node_id").values_list("node_id", flat=True))
    found = {}
    for pk, name in cluster.instances.order_by("name", "pk").values_list("pk", "name"):
        texts = {str(node_id): str(form.get(field_of(pk, node_id), "")) for node_id in node_ids}
        try:
            weights = parse_weight_texts(texts, node_ids)
        except WeightError as error:
            raise error.of(f"per_instance.{name}{error.field.removeprefix('weights')}") from error
        found[name] = {str(node_id): weight for node_id, weight in weights.items()}
    return found


def _refusal(error: WeightError, cluster: Cluster) -> str:
    """With the backend and the pgpool by their names, not by their field."""
    names = {"note": "The note", "base": "The base"}
    for pgpool in cluster.instances.order_by("pk").values_list("name", flat=True):
        names[f"per_instance.{pgpool}"] = f"The weights of {pgpool}"
        for backend in cluster.backends.order_by("node_id"):
            names[f"per_instance.{pgpool}.{backend.node_id}"] = f"{backend.shown_name} on {pgpool}"
    return f"{names.get(error.field, 'The weights')}{str(error).removeprefix(error.field)}."
