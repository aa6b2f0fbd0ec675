"""The page that registers a cluster: test the connection, look at what was found, register."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.forms.registration import RegistrationForm
from apps.clusters.queries.shared_pgpools import warnings_of, watchers
from apps.clusters.registry import registration
from apps.clusters.registry.connection_test import test_connection
from apps.clusters.views.report import ShownBackend, shown


@never_cache
@require_http_methods(["GET", "POST"])
@page(Role.ADMIN)
def register_cluster(request: HttpRequest, caller: Caller) -> HttpResponse:
    """One form, several buttons: without a script each of them answers with the whole page."""
    if request.method != "POST":
        return _page(request, RegistrationForm(None, organisation_slug=caller.organisation.slug))
    match request.POST.get("do"):
        case "add":
            return _page(request, RegistrationForm.draft(request.POST, organisation_slug=caller.organisation.slug))
        case "test":
            return _tested(request, caller)
        case _:
            return _register(request, caller)


@never_cache
@require_POST
@page(Role.ADMIN)
def register_test(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The report alone, for the form as it is typed; passwords stay in the browser's fields."""
    form = _form(request, caller, needs_name=False)
    if not form.is_valid():
        return render(request, "clusters/_connection_report.html", {"form": form, "is_refused": True}, status=422)
    report = test_connection(form.wanted(), organisation=caller.organisation)
    return render(request, "clusters/_connection_report.html", {"report": shown(report, request.POST)})


@require_POST
@page(Role.ADMIN)
def register_pgpool_row(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The fields of one more pgpool, numbered after those in the form."""
    row = _form(request, caller).add_pgpool()
    return render(request, "clusters/_pgpool_fields.html", {"row": row})


def _form(request: HttpRequest, caller: Caller, *, needs_name: bool = True) -> RegistrationForm:
    return RegistrationForm(request.POST, organisation_slug=caller.organisation.slug, needs_name=needs_name)


def _tested(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = _form(request, caller, needs_name=False)
    if not form.is_valid():
        return _page(request, form, status=422)
    report = test_connection(form.wanted(), organisation=caller.organisation)
    return _page(request, form, {"report": shown(report, request.POST)})


def _register(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = _form(request, caller)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        cluster = registration.register(caller=caller, wanted=form.wanted(), now=timezone.now())
    except registration.RegistrationRefused as error:
        form.refuse(error.errors)
        return _page(request, form, status=422)
    watching = watchers(organisation_id=caller.organisation.pk)
    for warning in warnings_of(cluster.instances.order_by("name"), watching):
        messages.warning(request, warning)
    return see_other("cluster", organisation=caller.organisation.slug, slug=cluster.slug)


def _page(
    request: HttpRequest, form: RegistrationForm, extra: Mapping[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "backends": [ShownBackend(None, each) for each in form.backends],
        "is_retyped": request.method == "POST",
        **(extra or {}),
    }
    return render(request, "clusters/cluster_register.html", context, status=status)
