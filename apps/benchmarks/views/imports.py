"""Pages of imported results: the list with the form, one as it was printed and checked."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import imports
from apps.benchmarks.control.imports import ImportRefused
from apps.benchmarks.models import BenchmarkImport
from apps.benchmarks.queries.import_page import shown_import
from apps.benchmarks.queries.imports import detail_answer, examples, import_of, imports_of, summary_answer

MOST_SHOWN = 200


class ImportForm(forms.Form):
    """What somebody pasted, or one of the examples."""

    text = forms.CharField(
        label="Results",
        required=False,
        strip=False,
        max_length=imports.MOST_CHARACTERS,
        help_text="what pgbench or sysbench printed, whole, or a document in the import format",
        widget=forms.Textarea({"class": "in mono", "rows": 8, "spellcheck": "false", "autocomplete": "off"}),
    )
    name = forms.CharField(
        label="Name",
        required=False,
        max_length=200,
        help_text="empty: as they name themselves",
        widget=forms.TextInput({"class": "in", "autocomplete": "off"}),
    )
    example = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, str]:
        cleaned = super().clean() or self.cleaned_data
        if not cleaned.get("text", "").strip() and not cleaned.get("example"):
            self.add_error("text", "Paste what was measured.")
        return cleaned


@require_http_methods(["GET", "POST"])
@page()
def import_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    if request.method == "GET":
        return _listed(request, caller, ImportForm())
    caller.require(Role.OPERATOR)
    form = ImportForm(request.POST)
    if not form.is_valid():
        return _listed(request, caller, form, status=422)
    try:
        imported = _taken(caller, form.cleaned_data)
    except ImportRefused as error:
        form.add_error("text", error.reason)
        return _listed(request, caller, form, status=422)
    return see_other("import", organisation=caller.organisation.slug, pk=imported.pk)


@require_GET
@page()
def import_detail(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    found = detail_answer(import_of(caller=caller, pk=pk))
    context = {"imported": found, "shown": shown_import(found), "may_operate": caller.may(Role.OPERATOR)}
    return render(request, "benchmarks/import_detail.html", context)


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def import_remove(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    imported = import_of(caller=caller, pk=pk)
    if request.method == "GET":
        return render(request, "benchmarks/import_remove.html", {"imported": summary_answer(imported)})
    imports.remove(caller=caller, imported=imported)
    messages.success(request, f"{imported.name} is removed.")
    return see_other("import-list", organisation=caller.organisation.slug)


def _taken(caller: Caller, given: dict[str, str]) -> BenchmarkImport:
    if given["example"]:
        return imports.take_example(caller=caller, key=given["example"], name=given["name"])
    text = given["text"]
    take = imports.take_document if text.lstrip().startswith("{") else imports.take_output
    return take(caller=caller, text=text, name=given["name"])


def _listed(request: HttpRequest, caller: Caller, form: ImportForm, *, status: int = 200) -> HttpResponse:
    context = {
        "imports": [summary_answer(each) for each in imports_of(caller=caller)[:MOST_SHOWN]],
        "examples": examples(),
        "form": form,
        "may_operate": caller.may(Role.OPERATOR),
    }
    return render(request, "benchmarks/import_list.html", context, status=status)
