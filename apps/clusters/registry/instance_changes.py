"""Adding, changing and removing one pgpool of a cluster that is registered."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.registry import cluster_survey
from apps.clusters.registry.change_plan import known_addresses, pgpool_wanted
from apps.clusters.registry.cluster_survey import Ask
from apps.clusters.registry.cluster_wanted import PgpoolWanted
from apps.clusters.registry.connection_survey import AskedPgpool, Question
from apps.clusters.registry.connection_test import examine, own_database
from apps.clusters.registry.deadlocks import atomic_despite_deadlocks
from apps.clusters.registry.registration import (
    RegistrationRefused,
    described_instance,
    race_lost,
    store_instance,
    twice_errors,
)
from apps.clusters.registry.registry_locks import RegistryConflict, locked, record_event, refuse_while_busy

FIELD = "pgpool"


def add_instance(
    *, caller: Caller, cluster: Cluster, wanted: PgpoolWanted, now: dt.datetime, ask: Ask = cluster_survey.ask
) -> PgpoolInstance:
    """A further pgpool of the cluster. Raises RegistrationRefused, as for one that numbers the backends differently."""
    caller.require(Role.ADMIN)
    asked = AskedPgpool(FIELD, wanted.name or _free_name(cluster), wanted)
    others = [
        AskedPgpool(f"others.{each.name}", each.name, pgpool_wanted(each, {})) for each in cluster.instances.all()
    ]
    errors = {field: text for field, text in twice_errors([asked, *others]).items() if field.startswith(FIELD)}
    if errors:
        raise RegistrationRefused(_own_fields(errors))
    findings = examine(_question(cluster, asked, others), organisation=caller.organisation, ask=ask)
    if findings.errors:
        raise RegistrationRefused(_own_fields(findings.errors))
    try:
        with transaction.atomic():
            current = locked(cluster)
            refuse_while_busy(current)
            version = findings.survey.pgpools[0].version
            instance = store_instance(current, asked, claim=findings.claims.get(FIELD), version=version)
            _record(caller, instance, "cluster.pgpool.add", now, after=described_instance(instance))
    except IntegrityError as error:
        raise race_lost(error) from error
    return instance


def change_instance(
    *, caller: Caller, instance: PgpoolInstance, changes: Mapping[str, Any], now: dt.datetime, password: str = ""
) -> PgpoolInstance:
    """changes: host, port, az, pcp, delivery, as PgpoolChangeInput validates them; what is left out stays.

    password: of the cluster's monitoring role, which a new address needs again. Raises as change_cluster does.
    """
    from apps.clusters.registry.registry_changes import change_cluster

    whole: dict[str, Any] = {"pgpools": [{**changes, "name": instance.name}]}
    if password:
        whole["password"] = password
    try:
        change_cluster(caller=caller, cluster=instance.cluster, changes=whole, now=now)
    except RegistrationRefused as error:
        errors = {field.removeprefix("pgpools.0."): message for field, message in error.errors.items()}
        raise RegistrationRefused(errors) from error
    instance.refresh_from_db()
    return instance


@atomic_despite_deadlocks
def remove_instance(*, caller: Caller, instance: PgpoolInstance, now: dt.datetime) -> None:
    """Stop watching a pgpool; it and its file stay as they are.

    Raises RegistryConflict for the last one and while something is under way, and Http404 when somebody has removed it
    meanwhile.
    """
    caller.require(Role.ADMIN)
    cluster = locked(instance.cluster)
    refuse_while_busy(cluster)
    if not cluster.instances.filter(pk=instance.pk).exists():
        raise Http404(f"{instance.name} was removed meanwhile.")
    if not cluster.instances.exclude(pk=instance.pk).exists():
        raise RegistryConflict(
            f"{instance.name} is the last pgpool of {cluster.slug}: add another first, or remove the cluster."
        )
    _record(caller, instance, "cluster.pgpool.remove", now, before=described_instance(instance))
    instance.delete()


def _free_name(cluster: Cluster) -> str:
    taken = set(cluster.instances.values_list("name", flat=True))
    return next(name for number in itertools.count(len(taken) + 1) if (name := f"pgpool-{number}") not in taken)


def _question(cluster: Cluster, asked: AskedPgpool, others: Sequence[AskedPgpool]) -> Question:
    return Question(
        username=cluster.username,
        password=cluster.password,
        sslmode=cluster.sslmode,
        pgpools=(asked,),
        backends=(),
        own_database=own_database(),
        known=known_addresses(cluster),
        is_observe_only=cluster.is_observe_only,
        others=tuple(others),
    )


def _own_fields(errors: Mapping[str, str]) -> dict[str, str]:
    """The credentials are the cluster's: that this pgpool refuses them is told at its address."""
    told = {field.removeprefix(f"{FIELD}."): message for field, message in errors.items()}
    for field in ("password", "sslmode", "backends"):
        if field in told:
            told["host"] = told.pop(field)
    return told


def _record(
    caller: Caller,
    instance: PgpoolInstance,
    action: str,
    now: dt.datetime,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        caller=caller,
        action=action,
        target_type="pgpool",
        target_id=instance.pk,
        target_name=f"{instance.cluster.slug}/{instance.name}",
        before=before,
        after=after,
    )
    word = "added" if before is None else "removed"
    record_event(
        instance.cluster,
        now=now,
        title=f"{instance.name} was {word}",
        detail=f"by {caller.user.shown_name}",
        instance_name=instance.name,
    )
