"""The page of a cluster's functions: which ones write, which are marked wrong, what to tell pgpool."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control import draft_rows, function_draft
from apps.clusters.control.function_survey import request_survey
from apps.clusters.control.parameter_change import ParametersRefused
from apps.clusters.control.survey_rows import LONGEST_DATABASE, SurveyRefused
from apps.clusters.forms import fields
from apps.clusters.forms.refusals import sentence
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.functions import DEFAULT_DATABASE, functions_answer
from apps.clusters.views.detail import cluster_context


class SurveyForm(forms.Form):
    database = fields.text("Database", max_length=LONGEST_DATABASE, hint="one at a time; each has functions of its own")


@require_GET
@page()
def functions(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return _page(request, caller, lookup.cluster_of(caller=caller, slug=slug), "clusters/cluster_functions.html")


@require_GET
@page()
def functions_now(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes when a survey has ended."""
    return _page(request, caller, lookup.cluster_of(caller=caller, slug=slug), "clusters/_functions_now.html")


@require_POST
@page(Role.OPERATOR)
def functions_survey(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster, form = lookup.cluster_of(caller=caller, slug=slug), SurveyForm(request.POST)
    template = "clusters/cluster_functions.html"
    if not form.is_valid():
        return _page(request, caller, cluster, template, {"form": form}, status=422)
    try:
        request_survey(caller=caller, cluster=cluster, database=form.cleaned_data["database"], now=timezone.now())
    except SurveyRefused as error:
        form.add_error("database", f"It {error.message}.")
        return _page(request, caller, cluster, template, {"form": form}, status=422)
    return see_other("cluster-functions", organisation=caller.organisation.slug, slug=slug)


@require_POST
@page(Role.OPERATOR)
def functions_draft(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What is proposed of all databases that were read, as part of the caller's draft."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    try:
        function_draft.add_to_draft(
            caller=caller,
            cluster=cluster,
            empties_read_only="empties_read_only" in request.POST,
            despite_unread="despite_unread" in request.POST,
            now=timezone.now(),
        )
    except (function_draft.NothingProposed, function_draft.DatabasesUnread, ParametersRefused) as error:
        messages.warning(request, sentence(str(error)))
        return see_other("cluster-functions", organisation=caller.organisation.slug, slug=slug)
    return see_other("cluster-draft", organisation=caller.organisation.slug, slug=slug)


def _page(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    template: str,
    extra: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    answer = functions_answer(cluster=cluster)
    database = answer["latest"]["database"] if answer["latest"] else DEFAULT_DATABASE
    lists = function_draft.propose(cluster=cluster, draft=draft_rows.find(caller, cluster))
    context = {
        **cluster_context(caller, cluster, "functions"),
        **answer,
        "lists": lists,
        "read_only_lists": [one for one in lists if one["read_only"]],
        "not_read": [one for one in lists if one["proposed"] is None],
        "form": SurveyForm(initial={"database": database}),
        **(extra or {}),
    }
    return render(request, template, context, status=status)
