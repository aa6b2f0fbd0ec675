"""The audit trail as a page."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts import audit_words
from apps.accounts.access import Caller, page
from apps.accounts.forms import AuditFilterForm
from apps.accounts.paging import PageKeyInvalid, page_of
from apps.accounts.queries import audit_trail
from apps.accounts.roles import Role


@require_GET
@page(role=Role.ADMIN)
def audit_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = AuditFilterForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    rows = audit_trail(caller=caller, action=wanted.get("action", ""), target=wanted.get("target", ""))
    try:
        entries = page_of(rows, query=request.GET)
    except PageKeyInvalid as error:
        raise Http404(str(error)) from error
    shown = [audit_words.shown(entry) for entry in entries.rows]
    return render(request, "accounts/audit_list.html", {"entries": shown, "page": entries, "form": form})
