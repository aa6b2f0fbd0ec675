"""Rows of rollouts: made whole, held by a lease, changed by compare-and-set, every change announced and logged."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.http import Http404
from kombu.exceptions import OperationalError

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import backend_operation_rows, program_parameters, restart_rows, writes
from apps.clusters.control.rollout_actions import AS_FOUND
from apps.clusters.domain import rollout_plan
from apps.clusters.domain.rollout_plan import RolloutView, StepView
from apps.clusters.domain.rollout_waves import ONE_BY_ONE, Plan, plan_as_json, stored_plan
from apps.clusters.models import (
    Cluster,
    ClusterEvent,
    ConfigRevision,
    RevisionDebt,
    RollingRestart,
    Rollout,
    RolloutLog,
    RolloutStep,
)
from apps.clusters.queries import weight_words
from apps.live import events

logger = logging.getLogger(__name__)

ADVANCE_TASK = "clusters.advance_rollout"
# Longer than any single action (rollout_actions.LONGEST_ACTION_S), since the lease is renewed before each; a dead
# worker's rollout waits this long.
LEASE = timedelta(seconds=12)
# Somebody waits for the answer to their request. Celery's own patience with a broker that hangs is 5 s and more.
NUDGE_PATIENCE = {"socket_connect_timeout": 0.5, "socket_timeout": 0.5, "max_retries": 0}


class RolloutRunning(Exception):
    """Another rollout of this cluster is not finished yet."""

    def __init__(self, rollout_id: int) -> None:
        super().__init__(f"Rollout {rollout_id} of this cluster is still running. Wait for its end, or cancel it.")
        self.rollout_id = rollout_id


class LeaseLost(Exception):
    """Another worker carries this rollout on."""

    def __init__(self, rollout_id: int) -> None:
        super().__init__(f"rollout {rollout_id}: another worker carries it on")


_ACTION_BY_ORIGIN: Mapping[str, str] = {
    ConfigRevision.Origin.OWED: "debt.given",
    ConfigRevision.Origin.ROLLBACK: "rollout.rollback_requested",
    ConfigRevision.Origin.ADOPTED: "drift.adopted",
    ConfigRevision.Origin.REVERTED: "drift.reverted",
}


@contextmanager
def one_at_a_time(cluster: Cluster) -> Iterator[None]:
    """Turn the table's refusal of a second active rollout into RolloutRunning. Stands around the transaction."""
    try:
        yield
    except IntegrityError as error:
        if "rollout_one_active_per_cluster" not in str(error):
            raise
        raise RolloutRunning(cluster.rollouts.latest("pk").pk) from error


def hold(cluster: Cluster) -> None:
    """Keep other requests for this cluster waiting until the transaction ends.

    Raises RolloutRunning, backend_operation_rows.OperationRunning, restart_rows.RestartRunning, writes.NotAllowed, or
    Http404.
    """
    if Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first() is None:
        raise Http404(f"The cluster {cluster.slug} was removed meanwhile.")
    refuse_unless_free(cluster)


def refuse_unless_free(cluster: Cluster) -> None:
    """Whether a change could be requested as things stand. Raises what hold does, but Http404."""
    writes.refuse_unless_allowed(cluster)
    running = cluster.rollouts.filter(state__in=Rollout.ACTIVE).first()
    if running is not None:
        raise RolloutRunning(running.pk)
    backend_operation_rows.refuse_running(cluster)
    restart_rows.refuse_running(cluster)


def create(
    *,
    caller: Caller,
    cluster: Cluster,
    revision: ConfigRevision,
    weights_before: Mapping[str, Mapping[str, float]],
    now: datetime,
    rollback_of: Rollout | None = None,
    plan: Plan = ONE_BY_ONE,
    settles: RevisionDebt | None = None,
) -> Rollout:
    """A rollout of the revision with a step for each of its files, in the transaction that is open.

    Raises program_parameters.NeedsAdmin.
    settles: the debt that it is to settle, loaded with its step, rollout and revision.
    """
    rollout = Rollout.objects.create(
        cluster=cluster,
        revision=revision,
        rollback_of=rollback_of,
        settles=settles,
        plan=plan_as_json(plan),
        requested_by=caller.user,
        requested_by_name=caller.user.shown_name,
    )
    # The canary first, then all in the order of their names.
    files = sorted(
        revision.files.defer("text", "base_text"),
        key=lambda file: (file.instance_name != plan.canary, file.instance_name),
    )
    RolloutStep.objects.bulk_create(
        RolloutStep(
            rollout=rollout,
            position=position,
            instance_id=file.instance_id,
            instance_name=file.instance_name,
            file=file,
        )
        for position, file in enumerate(files)
    )
    # With its steps it is no file of the registration, which would count as verified.
    program_parameters.refuse_unless_admin(caller, revision)
    _give_up_restoring(rollout)
    _record(caller, rollout, weights_before)
    what = str(revision) if settles is None else f"what {settles.instance.name} owes of {settles.step.rollout.revision}"
    title = f"{what} requested by {rollout.requested_by_name}"
    log(rollout, f"Rollout of {title}.")
    add_event(rollout, f"rollout of {title}", at=now)
    announce(rollout)
    transaction.on_commit(lambda: nudge(rollout.pk), robust=True)
    return rollout


def _record(caller: Caller, rollout: Rollout, weights_before: Mapping[str, Mapping[str, float]]) -> None:
    revision, names = rollout.revision, weight_words.backend_names(cluster=rollout.cluster)
    request = "parameters.requested" if revision.parameters else "weights.requested"
    request = _ACTION_BY_ORIGIN.get(revision.origin, request)
    audit.record(
        caller=caller,
        action=request,
        target_type="cluster",
        target_id=rollout.cluster.pk,
        target_name=rollout.cluster.slug,
        before={"shares": weight_words.shares_text(weights_before, names), "weights": weights_before},
        after={
            "shares": weight_words.shares_text(revision.weights, names),
            "weights": revision.weights,
            "revision": revision.number,
            "rollout": rollout.pk,
            "note": revision.note,
            **({"parameters": revision.parameter_names} if revision.parameters else {}),
        },
    )


def _give_up_restoring(newer: Rollout) -> None:
    """Restoring an older file would fight with a newer rollout."""
    RolloutStep.objects.filter(
        rollout__cluster_id=newer.cluster_id, rollout_id__lt=newer.pk, state=RolloutStep.State.RESTORE_PENDING
    ).update(
        state=RolloutStep.State.FAILED, error=f"the old file was not confirmed before rollout {newer.pk} was requested"
    )


def view_of(rollout: Rollout, steps: Sequence[RolloutStep]) -> RolloutView:
    """The rows as the plan reads them."""
    return RolloutView(
        state=rollout_plan.RolloutState(rollout.state),
        is_rollback=goes_past_failures(rollout),
        steps=tuple(_step_view(step) for step in steps),
        is_halting=rollout.is_halting,
        is_cancel_requested=rollout.is_cancel_requested,
        plan=stored_plan(rollout.plan),
        waves_released=rollout.waves_released,
    )


def goes_past_failures(rollout: Rollout) -> bool:
    """Whether it goes on past a pgpool that fails, and undoes nothing: the others must not wait for that one.

    So does an adoption: what is right on one pgpool is no less so because another one is frozen.
    """
    return rollout.rollback_of_id is not None or rollout.revision.origin in _PAST_FAILURES


_PAST_FAILURES = {ConfigRevision.Origin.REVERTED, ConfigRevision.Origin.ADOPTED}


def _step_view(step: RolloutStep) -> StepView:
    return StepView(
        position=step.position,
        instance_name=step.instance_name,
        state=rollout_plan.StepState(step.state),
        attempts=step.attempts,
        error=step.error,
        is_touched=step.is_touched,
        is_base_checked=_has(step, "base_sha256"),
        is_as_found=_has(step, AS_FOUND),
    )


def _has(step: RolloutStep, key: str) -> bool:
    """Whether its receipt has this key: as steps_of found it, else by the receipt itself."""
    found: bool | None = getattr(step, f"has_{key}", None)
    return key in step.receipt if found is None else found


def loaded(rollout: Rollout, step_ids: Sequence[int], *, texts: Collection[str]) -> dict[int, RolloutStep]:
    """Steps with all that an action on them reads: the instance, its cluster with all backends, and of the texts
    those that are named, as text and base_text: they are long and encrypted."""
    left_out = [f"file__{name}" for name in ("text", "base_text") if name not in texts]
    found = RolloutStep.objects.filter(pk__in=step_ids).select_related("file__instance", "instance").defer(*left_out)
    cluster = Cluster.objects.select_related("organisation__ssh_key").prefetch_related("backends")
    # One for all: there may be a hundred steps.
    shared = cluster.get(pk=rollout.cluster_id)
    for step in found:
        step.rollout = rollout
        if step.instance is not None:
            step.instance.cluster = shared
    return {step.pk: step for step in found}


def steps_of(rollout: Rollout) -> list[RolloutStep]:
    """As view_of reads them, in their order; without the receipts, which are long."""
    found = {f"has_{key}": Q(receipt__has_key=key) for key in ("base_sha256", AS_FOUND)}
    return list(rollout.steps.defer("receipt").annotate(**found).order_by("position"))


def nudge(row_id: int, *, task: str = ADVANCE_TASK, queue: str | None = None) -> None:
    """Let a worker look at the row now. A lost nudge costs two seconds: beat looks at the rows too.

    queue: None for that of the task.
    """
    try:
        with current_app.connection_for_write() as broker:
            broker.transport_options = {**(broker.transport_options or {}), **NUDGE_PATIENCE}
            current_app.send_task(task, args=[row_id], connection=broker, retry=False, expires=10, queue=queue)
    except (OperationalError, OSError) as error:
        logger.warning("the broker took no nudge: task=%s row=%s error=%s", task, row_id, error)


def announce(rollout: Rollout) -> None:
    facts = {"rollout": rollout.pk, "state": rollout.state}
    events.announce(f"rollout.{rollout.pk}", "rollout", **facts)
    events.announce(f"cluster.{rollout.cluster_id}", "rollout", **facts)


def log(rollout: Rollout, text: str, *, instance_name: str = "", is_problem: bool = False) -> None:
    RolloutLog.objects.create(rollout=rollout, instance_name=instance_name, text=text, is_problem=is_problem)


def named_reason(name: str, reason: str) -> str:
    """pgpool-2: the reason, unless that begins with the name itself."""
    return reason if reason.startswith(f"{name} ") else f"{name}: {reason}"


def add_event(rollout: Rollout, title: str, *, at: datetime, detail: str = "", is_problem: bool = False) -> None:
    ClusterEvent.objects.create(
        cluster_id=rollout.cluster_id,
        at=at,
        kind=ClusterEvent.Kind.ROLLOUT,
        is_problem=is_problem,
        title=title[:200],
        detail=detail,
        rollout=rollout,
    )


def take_lease(rollout_id: int, holder: str) -> bool:
    """Get or renew the lease, by the database's clock. False: another worker holds it."""
    free = Q(lease_holder=holder) | Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    taken = Rollout.objects.filter(free, pk=rollout_id).update(lease_holder=holder, lease_expires_at=Now() + LEASE)
    return taken == 1


def release_lease(rollout_id: int, holder: str) -> None:
    Rollout.objects.filter(pk=rollout_id, lease_holder=holder).update(lease_holder="", lease_expires_at=None)


def due_rollout_ids(*, now: datetime, restoring_for: timedelta) -> list[int]:
    """Rollouts with something to do that no living worker holds; now and then a failed one that may yet be restored."""
    is_free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    is_active = Q(state__in=Rollout.ACTIVE)
    # It would be told to reload amid its restart.
    restarting = RollingRestart.objects.filter(state=RollingRestart.State.RUNNING)
    is_restorable = ~Q(cluster__in=restarting.values("cluster")) & Q(
        state=Rollout.State.FAILED,
        finished_at__gt=now - restoring_for,
        steps__in=RolloutStep.objects.filter(
            Q(retry_at=None) | Q(retry_at__lte=now),  # none while it is being asked: that worker may have died
            state=RolloutStep.State.RESTORE_PENDING,
        ),
    )
    due = Rollout.objects.filter(is_free, is_active | is_restorable).order_by("pk")
    return list(due.values_list("pk", flat=True).distinct())


def change_rollout(rollout: Rollout, holder: str, **changes: Any) -> None:
    """Compare-and-set by state and lease. Raises LeaseLost when somebody was there first."""
    own = Rollout.objects.filter(pk=rollout.pk, state=rollout.state, lease_holder=holder, lease_expires_at__gt=Now())
    if own.update(**changes) != 1:
        raise LeaseLost(rollout.pk)
    for name, value in changes.items():
        setattr(rollout, name, value)
