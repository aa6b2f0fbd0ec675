"""Pages of one run: all that is known of it, what of that changes, and the question before it is stopped."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import runs
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.queries.run_page import run_page
from apps.benchmarks.queries.runs import run_answer, run_of


@require_GET
@page()
def run_detail(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    shown = run_page(run=run_of(caller=caller, pk=pk), caller=caller)
    return render(request, "benchmarks/run_detail.html", {**shown, "is_fragment": False})


@require_GET
@page()
def run_now(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """What of the page changes while the run goes on."""
    shown = run_page(run=run_of(caller=caller, pk=pk), caller=caller)
    return render(request, "benchmarks/_run_now.html", {**shown, "is_fragment": True})


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def run_stop(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """Asked for: what stopping does. Posted: it is stopped."""
    run = run_of(caller=caller, pk=pk)
    if request.method == "GET":
        return render(request, "benchmarks/run_stop.html", {"run": run_answer(run=run, caller=caller)})
    try:
        runs.stop(caller=caller, run=run, now=timezone.now())
    except RunRefused as error:
        messages.error(request, str(error))
    return see_other("run", organisation=caller.organisation.slug, pk=pk)
