"""The page of a draft: gather weights and parameters, review the diffs and findings, roll out."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import drafts, redrafting, weight_change
from apps.clusters.control.draft_rows import Draft
from apps.clusters.control.drafts import DraftChange
from apps.clusters.control.parameter_change import ParametersRefused
from apps.clusters.control.revisions import ConfigUnusable
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.rollout_waves import Absent
from apps.clusters.domain.weights import WeightError, shares
from apps.clusters.forms.drafts import ParameterForm
from apps.clusters.forms.refusals import sentence
from apps.clusters.forms.rollout_plans import PlanForm
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup, weight_words
from apps.clusters.queries.drafts import draft_answer
from apps.clusters.views.detail import cluster_context
from apps.clusters.views.weights import refusal_of, weights_in_form

_REFUSED = (WeightError, ParametersRefused, weight_change.WeightsRefused, drafts.NothingDrafted)
_LET_OWE = {"absent": Absent.OWE.value}


@require_GET
@page(Role.OPERATOR)
def draft_page(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    initial = {"name": request.GET.get("name", "")[:100], "instance": request.GET.get("instance", "")}
    return _page(request, caller, cluster, ParameterForm(instance_names=_names(cluster), initial=initial))


@require_POST
@page(Role.OPERATOR)
def draft_parameter(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = ParameterForm(request.POST, instance_names=_names(cluster))
    if not form.is_valid():
        return _page(request, caller, cluster, form, status=422)
    instance = form.cleaned_data["instance"] or None
    try:
        drafts.put_parameter(
            caller=caller,
            cluster=cluster,
            name=form.cleaned_data["name"],
            value=form.wanted_value,
            instance=instance,
            now=timezone.now(),
        )
    except ParametersRefused as error:
        form.add_error("value", sentence(str(error)))
        return _page(request, caller, cluster, form, status=422)
    return _back(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def draft_weights(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """From the editor of weights."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    try:
        weights = weights_in_form(request.POST, cluster)
        drafts.put_weights(caller=caller, cluster=cluster, weights=weights, now=timezone.now())
    except (WeightError, ParametersRefused) as error:
        messages.error(request, refusal_of(error, cluster))
        return see_other("cluster-weights", organisation=caller.organisation.slug, slug=cluster.slug)
    return _back(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def draft_drop(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    name, instance = request.POST.get("name", ""), request.POST.get("instance", "") or None
    drafts.drop(caller=caller, cluster=cluster, name=name, instance=instance, now=timezone.now())
    return _back(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def draft_discard(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    drafts.discard(caller=caller, cluster=cluster)
    messages.success(request, "The draft is discarded; nothing was changed.")
    return _back(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def draft_looked_at(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Somebody has looked at the revisions that came in since the draft was begun."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    number = request.POST.get("revision", "")
    wanted = DraftChange(base_revision=int(number) if number.isascii() and number.isdecimal() else -1)
    try:
        drafts.change(caller=caller, cluster=cluster, wanted=wanted, now=timezone.now())
    except WeightError:
        messages.warning(request, "Another revision came in meanwhile: look at that one too.")
    return _back(caller, cluster)


@require_POST
@page(Role.OPERATOR)
def rollout_redraft(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """From the page of a rollout that was taken back."""
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    try:
        redrafting.redraft(caller=caller, rollout=rollout, now=timezone.now())
    except (redrafting.NotRedrafted, WeightError, ParametersRefused) as error:
        messages.error(request, sentence(str(error)))
        return see_other("rollout", organisation=caller.organisation.slug, pk=pk)
    return _back(caller, rollout.cluster)


@require_POST
@page(Role.OPERATOR)
def draft_roll_out(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    plan_form = PlanForm.of_cluster(cluster, request.POST)
    if plan_form.is_refused:
        said = "How to roll out: look at what is marked there."
        return _page(request, caller, cluster, plan_form=plan_form, refusal=said, status=422)
    version = request.POST.get("version")
    try:
        rollout = drafts.roll_out(
            caller=caller,
            cluster=cluster,
            note=request.POST.get("note", ""),
            base=request.POST.get("base", weight_change.KNOWN),
            plan=plan_form.plan,
            expected=None if version is None else [version],
            now=timezone.now(),
        )
    except weight_change.RolloutRunning as error:
        messages.warning(request, str(error))
        return see_other("rollout", organisation=caller.organisation.slug, pk=error.rollout_id)
    except weight_change.BaseChanged:
        return _page(request, caller, cluster, plan_form=plan_form, status=409)
    except drafts.DraftChanged:
        said = (
            "The draft was changed in another window since this page was shown. It is shown as it is now; look again."
        )
        return _page(request, caller, cluster, plan_form=plan_form, refusal=said, status=409)
    except (WeightError, ParametersRefused, weight_change.WeightsRefused, drafts.NothingDrafted) as error:
        return _page(request, caller, cluster, plan_form=plan_form, refusal=sentence(str(error)), status=422)
    return see_other("rollout", organisation=caller.organisation.slug, pk=rollout.pk)


def _back(caller: Caller, cluster: Cluster) -> HttpResponse:
    return see_other("cluster-draft", organisation=caller.organisation.slug, slug=cluster.slug)


def _names(cluster: Cluster) -> list[str]:
    return list(cluster.instances.order_by("name").values_list("name", flat=True))


def _page(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    form: ParameterForm | None = None,
    *,
    plan_form: PlanForm | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    draft = drafts.draft_of(caller=caller, cluster=cluster)
    versions = cluster.instances.order_by("-version").values_list("version", flat=True)
    known = catalogue.for_version(versions.first())
    form = form or ParameterForm(instance_names=_names(cluster))
    if form.is_bound:
        form.forget_secret()
    reviewed = _reviewed(caller, cluster, draft, plan_form.plan if plan_form else None)
    drafted = {name for _, name in draft.values}
    findings = reviewed["preview"]["findings"] if "preview" in reviewed else []
    context = {
        **cluster_context(caller, cluster, "configuration"),
        **reviewed,
        # The others stand beside their parameter.
        "other_findings": [one for one in findings if one["parameter"] not in drafted],
        "draft": draft_answer(cluster=cluster, draft=draft),
        "weights_text": _weights_text(draft, cluster),
        "form": form,
        "plan_form": plan_form or PlanForm.of_cluster(cluster),
        "parameter": known.find(str(form["name"].value() or "")),
        "known_names": [one.name for one in known if one.numbered is None or one.is_bare],
        "refusal": refusal,
        "note": request.POST.get("note", ""),
        "is_draft_page": True,
    }
    return render(request, "clusters/cluster_draft.html", context, status=status)


def _reviewed(caller: Caller, cluster: Cluster, draft: Draft, plan: dict[str, Any] | None) -> dict[str, Any]:
    """What rolling the draft out would do, or why it cannot be said; what it would, if the unreached may owe it."""
    if not draft.count:
        return {}
    try:
        return _previewed(caller, cluster, plan)
    except ConfigUnusable as error:
        try:
            return {"unreached": sentence(str(error)), **_previewed(caller, cluster, _LET_OWE)}
        except _REFUSED:
            return {"blocked": sentence(str(error))}
    except _REFUSED as error:
        return {"blocked": sentence(str(error))}


def _previewed(caller: Caller, cluster: Cluster, plan: dict[str, Any] | None) -> dict[str, Any]:
    try:
        return {"preview": drafts.preview(caller=caller, cluster=cluster, plan=plan)}
    except weight_change.BaseChanged as error:
        try:
            return {
                "changed": error,
                "preview": drafts.preview(caller=caller, cluster=cluster, base=weight_change.LIVE, plan=plan),
            }
        except _REFUSED as refused:
            return {"changed": error, "blocked": sentence(str(refused))}


def _weights_text(draft: Draft, cluster: Cluster) -> str:
    if draft.weights is None:
        return ""
    wanted = shares({int(node_id): weight for node_id, weight in draft.weights.items()})
    by_node = {str(node_id): share for node_id, share in wanted.items()}
    return weight_words.shares_text({"": by_node}, weight_words.backend_names(cluster=cluster))
