"""The page that stops all writes and allows them again, and the banner that says so on every page."""

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
from apps.clusters.control import writes_switch
from apps.clusters.forms.changes import ObserveForm
from apps.clusters.registry import observe_only
from apps.clusters.registry.registry_locks import RegistryConflict


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=writes_switch.LONGEST_REASON,
        required=False,
        error_messages={"max_length": "Keep it to %(limit_value)d characters; it has %(show_value)d."},
    )


@require_GET
@page()
def writes_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _page(request, caller, ReasonForm())


@require_GET
@page()
def writes_banner(request: HttpRequest, caller: Caller) -> HttpResponse:
    return render(request, "clusters/_writes_banner.html")


@require_POST
@page(Role.OPERATOR)
def writes_stop(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, caller, form, status=422)
    left = writes_switch.stop(caller=caller, reason=form.cleaned_data["reason"], now=timezone.now())
    if left:
        begun = "One that had begun is" if left == 1 else f"{left} that had begun are"
        messages.warning(request, f"Writes are stopped: no new one begins. {begun} still finishing.")
    else:
        messages.success(request, "Writes are stopped, and none is under way any more.")
    return see_other("writes", organisation=caller.organisation.slug)


@require_POST
@page(Role.ADMIN)
def writes_allow(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, caller, form, status=422)
    writes_switch.allow(caller=caller, reason=form.cleaned_data["reason"], now=timezone.now())
    messages.success(request, "Writes are allowed again; rollouts that waited go on.")
    return see_other("writes", organisation=caller.organisation.slug)


@require_POST
@page(Role.ADMIN)
def writes_observe(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All of the organisation observe only, which has to be confirmed; or, with do=change, no longer."""
    slug, is_observe_only = caller.organisation.slug, request.POST.get("do") != "change"
    form = ObserveForm(request.POST if is_observe_only else None, expected=slug, prefix="observe")
    if is_observe_only and not form.is_valid():
        return _page(request, caller, ReasonForm(), {"observing": form}, status=422)
    try:
        observe_only.set_for_organisation(
            caller=caller, is_observe_only=is_observe_only, confirm=slug if is_observe_only else "", now=timezone.now()
        )
    except RegistryConflict as error:
        messages.error(request, str(error))
    return see_other("writes", organisation=slug)


def _page(
    request: HttpRequest,
    caller: Caller,
    form: ReasonForm,
    extra: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "may_operate": caller.may(Role.OPERATOR),
        "may_admin": caller.may(Role.ADMIN),
        "observing": ObserveForm(expected=caller.organisation.slug, prefix="observe"),
        **(extra or {}),
    }
    return render(request, "clusters/writes_detail.html", context, status=status)
