"""Changing what is registered: tested live first where it matters, stored whole, audited without secrets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.models import Backend, Cluster, PgpoolInstance
from apps.clusters.registry import cluster_survey
from apps.clusters.registry.change_plan import ChangePlan, pgpool_wanted, plan_changes
from apps.clusters.registry.cluster_survey import Ask
from apps.clusters.registry.connection_test import Findings, examine
from apps.clusters.registry.deadlocks import atomic_despite_deadlocks
from apps.clusters.registry.delivery_claims import Claim
from apps.clusters.registry.delivery_rows import columns, publish_given
from apps.clusters.registry.instance_changes import add_instance, change_instance, remove_instance
from apps.clusters.registry.registration import RegistrationRefused, described, race_lost
from apps.clusters.registry.registry_locks import RegistryConflict, locked, record_event, refuse_while_busy
from apps.live import events

__all__ = [
    "RegistryConflict",
    "add_instance",
    "change_cluster",
    "change_instance",
    "remove_cluster",
    "remove_instance",
]

CREDENTIALS = ("username", "password", "sslmode")


def change_cluster(
    *,
    caller: Caller,
    cluster: Cluster,
    changes: Mapping[str, Any],
    now: dt.datetime,
    ask: Ask = cluster_survey.ask,
) -> Cluster:
    """changes: as ClusterChangeInput validates them; what is left out stays.

    Raises RegistrationRefused (a field, or what a pgpool answered) or RegistryConflict (a rollout, restart or drain is
    under way).
    """
    caller.require(Role.ADMIN)
    plan = plan_changes(cluster, changes)
    if plan.errors:
        raise RegistrationRefused(plan.errors)
    findings = _tested(caller, plan, ask)
    try:
        with transaction.atomic():
            current = locked(cluster)
            if plan.touches_what_is_under_way:
                refuse_while_busy(current)
            _refuse_removed(current, plan)
            before = described(current)
            is_new_password = plan.changes.get("password", current.password) != current.password
            _apply(current, plan, findings)
            _record(caller, current, before=before, is_new_password=is_new_password, now=now)
    except IntegrityError as error:
        raise race_lost(error) from error
    return current


def _refuse_removed(cluster: Cluster, plan: ChangePlan) -> None:
    """A change of a pgpool that somebody removed while the others were asked would be lost without a word."""
    left = set(cluster.instances.values_list("pk", flat=True))
    gone = [change.instance.name for change in plan.instances if change.instance.pk not in left]
    if gone:
        raise RegistryConflict(f"{', '.join(gone)} was removed meanwhile.")


def _tested(caller: Caller, plan: ChangePlan, ask: Ask) -> Findings | None:
    if not plan.question.pgpools:
        return None
    findings = examine(plan.question, organisation=caller.organisation, ask=ask)
    errors = findings.errors
    if findings.survey.first is not None:
        # One that is down just now must not keep the others from getting new credentials.
        errors = {field: message for field, message in errors.items() if not plan.is_bystander(field)}
    if errors:
        raise RegistrationRefused(errors)
    return findings


def _apply(cluster: Cluster, plan: ChangePlan, findings: Findings | None) -> None:
    for name in ("name", *CREDENTIALS):
        if name in plan.changes:
            setattr(cluster, name, plan.changes[name])
    cluster.save(update_fields=["name", *CREDENTIALS])
    for change in plan.instances:
        _change_instance(change.instance, change.given, None if findings is None else findings.claims.get(change.field))
    for backend, given in plan.backends:
        _change_backend(backend, given)


def _change_instance(instance: PgpoolInstance, given: Mapping[str, Any], claim: Claim | None) -> None:
    """Writes what is given only: others may have changed the rest of the row while pgpools were asked."""
    changed = {name: given[name] for name in ("host", "port", "az") if name in given}
    if "pcp" in given:
        pcp = given["pcp"]
        changed["pcp_port"] = pcp["port"] if pcp else None
        changed["pcp_username"] = pcp["user"] if pcp else ""
        changed["pcp_password"] = pcp["password"] if pcp else ""
    if "delivery" in given:
        wanted = pgpool_wanted(instance, given)
        changed |= columns(wanted, claim)
        publish_given(instance, wanted.delivery)
    PgpoolInstance.objects.filter(pk=instance.pk).update(**changed)


def _change_backend(backend: Backend, given: Mapping[str, Any]) -> None:
    """As _change_instance."""
    changed = {name: given[name] for name in ("az",) if name in given}
    if "host" in given:
        changed["direct_host"] = "" if given["host"] == backend.hostname else given["host"]
    if "port" in given:
        changed["direct_port"] = None if given["port"] == backend.port else given["port"]
    Backend.objects.filter(pk=backend.pk).update(**changed)


def _record(
    caller: Caller, cluster: Cluster, *, before: dict[str, Any], is_new_password: bool, now: dt.datetime
) -> None:
    after = described(cluster)
    if is_new_password:
        after["password"] = "changed"  # noqa: S105 (a word for the audit trail, the password itself stays out)
    audit.record(
        caller=caller,
        action="cluster.change",
        target_type="cluster",
        target_id=cluster.pk,
        target_name=cluster.slug,
        before={key: value for key, value in before.items() if after.get(key) != value},
        after={key: value for key, value in after.items() if before.get(key) != value},
    )
    record_event(cluster, now=now, title="The registration was changed", detail=f"by {caller.user.shown_name}")


@atomic_despite_deadlocks
def remove_cluster(*, caller: Caller, cluster: Cluster, now: dt.datetime) -> None:
    """Forget a cluster, its revisions and rollouts; its pgpools and their files stay as they are.

    Its samples go with the day they were taken on. Raises RegistryConflict while a rollout, restart or drain is under
    way.
    """
    caller.require(Role.ADMIN)
    current = locked(cluster)
    refuse_while_busy(current)
    audit.record(
        caller=caller,
        action="cluster.remove",
        target_type="cluster",
        target_id=current.pk,
        target_name=current.slug,
        before=described(current),
    )
    # Rollouts protect their revision from being deleted under them.
    current.rollouts.all().delete()
    current.revisions.all().delete()
    current.delete()
    events.announce(f"organisation.{cluster.organisation_id}", "removed", cluster=cluster.slug, at=now.isoformat())
