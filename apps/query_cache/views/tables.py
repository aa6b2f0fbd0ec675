"""Which tables empty the cache: the fragment of its page, and a survey asked for."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.control.survey_rows import SurveyRefused
from apps.clusters.control.table_survey import request_survey
from apps.clusters.queries import lookup
from apps.clusters.views.detail import cluster_context
from apps.query_cache.forms.tables import TablesForm
from apps.query_cache.views.cache import cache_page
from apps.query_cache.views.tables_context import tables_context


@require_GET
@page()
def cluster_cache_tables(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """What of the page changes when a survey has ended."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    context = {**cluster_context(caller, cluster, "cache"), **tables_context(caller, cluster)}
    return render(request, "query_cache/_cache_tables_now.html", context)


@require_POST
@page(Role.OPERATOR)
def cluster_cache_tables_survey(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster, form = lookup.cluster_of(caller=caller, slug=slug), TablesForm(request.POST)
    if not form.is_valid():
        return cache_page(request, caller, cluster, tables_form=form, status=422)
    try:
        request_survey(caller=caller, cluster=cluster, database=form.cleaned_data["database"], now=timezone.now())
    except SurveyRefused as error:
        form.add_error("database", f"It {error.message}.")
        return cache_page(request, caller, cluster, tables_form=form, status=422)
    return see_other("cluster-cache", organisation=caller.organisation.slug, slug=slug)
