"""The page that takes the registry out and in as YAML."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.clusters.api.registration_inputs import cluster_wanted
from apps.clusters.forms.registry import RegistryForm
from apps.clusters.registry.registry_export import export_yaml
from apps.clusters.registry.registry_import import import_clusters


@require_GET
@page()
def registry_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _page(request, caller, {"form": RegistryForm()})


@never_cache
@require_GET
@page()
def registry_export_file(request: HttpRequest, caller: Caller) -> HttpResponse:
    answer = HttpResponse(export_yaml(caller.organisation), content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{caller.organisation.slug}-registry.yaml"'
    return answer


@never_cache
@require_POST
@page(Role.ADMIN)
def registry_import_file(request: HttpRequest, caller: Caller) -> HttpResponse:
    """do=import stores; anything else says what would be done. Neither file nor secrets are sent back."""
    form = RegistryForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, caller, {"form": form}, status=422)
    is_dry_run = request.POST.get("do") != "import"
    results = import_clusters(
        caller=caller,
        entries=form.cleaned_data["file"],
        secrets=form.cleaned_data["secrets"],
        read=cluster_wanted,
        is_dry_run=is_dry_run,
        now=timezone.now(),
    )
    return _page(request, caller, {"form": RegistryForm(), "results": results, "is_dry_run": is_dry_run})


def _page(request: HttpRequest, caller: Caller, extra: Mapping[str, Any], status: int = 200) -> HttpResponse:
    context = {"may_admin": caller.may(Role.ADMIN), "count": caller.organisation.clusters.count(), **extra}
    return render(request, "clusters/registry_detail.html", context, status=status)
