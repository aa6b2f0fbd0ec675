"""The settings of one cluster: what is registered, and each change to it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.forms.changes import CredentialsForm, NameForm, ObserveForm, PlacesForm, RemovalForm
from apps.clusters.forms.pgpools import PgpoolChangeForm
from apps.clusters.forms.refusals import sentence
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.shared_pgpools import warnings_of, watchers
from apps.clusters.registry import observe_only, registry_changes
from apps.clusters.registry.registration import RegistrationRefused
from apps.clusters.registry.registry_changes import RegistryConflict
from apps.clusters.views.settings_page import new_pgpool_form, settings_page


class ChangeForm(Protocol):
    """refuse: put what the story refused beside its fields; give back what no field is for."""

    def is_valid(self) -> bool: ...

    def refuse(self, errors: Mapping[str, str]) -> list[str]: ...


@never_cache
@require_GET
@page()
def cluster_settings(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    return settings_page(request, caller, lookup.cluster_of(caller=caller, slug=slug))


@require_POST
@page(Role.ADMIN)
def change_name(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    return _change(request, caller, cluster, "naming", NameForm(request.POST), "The name is changed.")


@require_POST
@page(Role.ADMIN)
def change_credentials(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = CredentialsForm(request.POST)
    return _change(request, caller, cluster, "credentials", form, "The new credentials work and are stored.")


@require_POST
@page(Role.ADMIN)
def change_places(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Zones of pgpools and backends, and where Lifeguard asks a backend."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = PlacesForm(request.POST, cluster=cluster)
    return _change(request, caller, cluster, "places", form, "The zones and addresses are stored.")


@require_POST
@page(Role.ADMIN)
def add_pgpool(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = new_pgpool_form(request.POST, cluster, caller.organisation.slug)

    def add() -> None:
        added = registry_changes.add_instance(caller=caller, cluster=cluster, wanted=form.wanted(), now=timezone.now())
        for warning in warnings_of([added], watchers(organisation_id=caller.organisation.pk)):
            messages.warning(request, warning)

    return _attempt(request, caller, cluster, ("new_pgpool", form), add, "The pgpool is watched from now on.")


@require_POST
@page(Role.ADMIN)
def change_pgpool(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    """Its address, its PCP, how its pgpool.conf is delivered."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    instance = lookup.instance_by_pk(cluster=cluster, pk=pk)
    form = PgpoolChangeForm(request.POST, instance=instance, organisation=caller.organisation.slug)

    def change() -> None:
        registry_changes.change_instance(
            caller=caller, instance=instance, changes=form.changes(), password=form.password, now=timezone.now()
        )

    return _attempt(request, caller, cluster, ("changed_pgpool", form), change, f"{instance.name} is changed.")


@require_POST
@page(Role.ADMIN)
def remove_pgpool(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    instance = lookup.instance_by_pk(cluster=cluster, pk=pk)
    try:
        registry_changes.remove_instance(caller=caller, instance=instance, now=timezone.now())
    except RegistryConflict as error:
        return settings_page(request, caller, cluster, {"refusals": [sentence(str(error))]}, status=409)
    messages.success(request, f"{instance.name} is no longer watched. It and its pgpool.conf stay as they are.")
    return _done(caller, cluster)


@require_POST
@page(Role.ADMIN)
def observe_cluster(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Observe only from now on, which has to be confirmed; or, with do=change, no longer."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    is_observe_only = request.POST.get("do") != "change"
    form = ObserveForm(request.POST if is_observe_only else None, expected=cluster.slug, prefix="observe")

    def switch() -> None:
        observe_only.set_for_cluster(
            caller=caller,
            cluster=cluster,
            is_observe_only=is_observe_only,
            confirm=form.cleaned_data["confirm"] if is_observe_only else "",
            now=timezone.now(),
        )

    if not is_observe_only:
        switch()
        messages.success(request, "Changes are possible again, once every pgpool has a delivery.")
        return _done(caller, cluster)
    done = f"{cluster.name} is observe only. How its files were delivered is forgotten."
    return _attempt(request, caller, cluster, ("observing", form), switch, done)


@require_POST
@page(Role.ADMIN)
def remove_cluster(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = RemovalForm(request.POST, expected=cluster.slug)
    if not form.is_valid():
        return settings_page(request, caller, cluster, {"removal": form}, status=422)
    try:
        registry_changes.remove_cluster(caller=caller, cluster=cluster, now=timezone.now())
    except RegistryConflict as error:
        return settings_page(request, caller, cluster, {"refusals": [sentence(str(error))]}, status=409)
    messages.success(request, f"{cluster.name} is removed. Its pgpools and their files stay as they are.")
    return see_other("fleet", organisation=caller.organisation.slug)


def _change(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    part: str,
    form: NameForm | CredentialsForm | PlacesForm,
    done: str,
) -> HttpResponse:
    """A form whose changes are those of the cluster as a whole."""

    def change() -> None:
        registry_changes.change_cluster(caller=caller, cluster=cluster, changes=form.changes(), now=timezone.now())

    return _attempt(request, caller, cluster, (part, form), change, done)


def _attempt(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    part: tuple[str, ChangeForm],
    story: Callable[[], None],
    done: str,
) -> HttpResponse:
    """Call the story if its form is filled in well; what it refuses is told on that part of the page."""
    name, form = part
    if not form.is_valid():
        return settings_page(request, caller, cluster, {name: form}, status=422)
    try:
        story()
    except RegistrationRefused as error:
        others = form.refuse(error.errors)
        return settings_page(request, caller, cluster, {name: form, "refusals": others}, status=422)
    except RegistryConflict as error:
        return settings_page(request, caller, cluster, {name: form, "refusals": [sentence(str(error))]}, status=409)
    messages.success(request, done)
    return _done(caller, cluster)


def _done(caller: Caller, cluster: Cluster) -> HttpResponse:
    return see_other("cluster-settings", organisation=caller.organisation.slug, slug=cluster.slug)
