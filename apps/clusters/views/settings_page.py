"""The settings page as a whole, around whichever of its forms was just refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from apps.accounts.access import Caller
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.clusters.forms.changes import CredentialsForm, NameForm, ObserveForm, PlacesForm, RemovalForm
from apps.clusters.forms.pgpools import PgpoolChangeForm, PgpoolForm
from apps.clusters.models import Cluster, InstanceLatest, PgpoolInstance
from apps.clusters.queries.sight import InstanceSight, sight_of
from apps.clusters.views.detail import cluster_context

# State of a pgpool -> how the word is drawn.
_STATES = {
    InstanceLatest.State.ANSWERING: "ok",
    InstanceLatest.State.HANGING: "crit",
    InstanceLatest.State.UNREACHABLE: "crit",
    InstanceLatest.State.REFUSED: "warn",
    InstanceLatest.State.RENUMBERED: "crit",
}


@dataclass(frozen=True)
class PgpoolRow:
    """form: None for those who may not change it. is_refused: its form comes back with errors."""

    instance: PgpoolInstance
    mark: str
    state: str
    reason: str
    form: PgpoolChangeForm | None
    is_refused: bool


def settings_page(
    request: HttpRequest,
    caller: Caller,
    cluster: Cluster,
    refused: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """refused: forms by the name of their part, and `refusals`, sentences that belong to no field."""
    given = dict(refused or {})
    sight = sight_of(cluster)
    context: dict[str, Any] = {
        **cluster_context(caller, cluster, "settings"),
        "admins": who_may(organisation=caller.organisation, role=Role.ADMIN),
        "backends": [one.backend for one in sight.backends],
        "pgpools": [_row(caller, one, given.get("changed_pgpool")) for one in sight.instances],
        "is_last": len(sight.instances) == 1,
        "is_refused": status >= 400,
    }
    if caller.may(Role.ADMIN):
        context |= _forms(caller, cluster)
    return render(request, "clusters/cluster_settings.html", context | given, status=status)


def _forms(caller: Caller, cluster: Cluster) -> dict[str, Any]:
    return {
        "naming": NameForm(initial={"name": cluster.name}),
        "credentials": CredentialsForm(initial={"username": cluster.username, "sslmode": cluster.sslmode}),
        "places": PlacesForm(None, cluster=cluster),
        "new_pgpool": new_pgpool_form(None, cluster, caller.organisation.slug),
        "observing": ObserveForm(expected=cluster.slug, prefix="observe"),
        "removal": RemovalForm(expected=cluster.slug),
    }


def new_pgpool_form(data: QueryDict | None, cluster: Cluster, organisation: str) -> PgpoolForm:
    number = cluster.instances.count() + 1
    return PgpoolForm(data, prefix="new", initial={"port": 9999}, organisation=organisation, number=number)


def _row(caller: Caller, one: InstanceSight, refused: PgpoolChangeForm | None) -> PgpoolRow:
    latest = one.latest
    is_refused = refused is not None and refused.instance.pk == one.instance.pk
    form = refused if is_refused else None
    if form is None and caller.may(Role.ADMIN):
        form = PgpoolChangeForm(instance=one.instance, organisation=caller.organisation.slug)
    return PgpoolRow(
        instance=one.instance,
        mark=_STATES.get(InstanceLatest.State(latest.state), "idle") if latest else "idle",
        state=latest.state if latest else "waiting",
        reason=latest.reason if latest else "not asked yet",
        form=form,
        is_refused=is_refused,
    )
