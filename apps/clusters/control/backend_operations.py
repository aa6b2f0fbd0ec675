"""Attach, detach and drain as people ask for them: refused with the reason, or stored; ended; let go on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import (
    backend_operation_rows,
    live_configs,
    revisions,
    rollout_rows,
    rollouts,
    weight_change,
    writes,
)
from apps.clusters.control.backend_survey import assessed
from apps.clusters.domain.backend_risk import Assessment
from apps.clusters.domain.rollout_waves import ONE_BY_ONE
from apps.clusters.domain.weights import WeightError
from apps.clusters.models import Backend, BackendOperation, BackendOperationStep, Cluster, PgpoolInstance, Rollout

DEFAULT_WAIT_S = 1800
LONGEST_WAIT_S = 86400
LONGEST_REASON = 500
Kind = BackendOperation.Kind


class OperationRefused(Exception):
    """This cannot be done with the backend, or the operation, as it stands."""

    def __init__(self, *refusals: str) -> None:
        super().__init__(" ".join(refusals))
        self.refusals = refusals


class OperationInvalid(ValueError):
    """A field of the request cannot be used."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field} must be {expected}")
        self.field = field
        self.expected = expected


def risk_of(*, cluster: Cluster, backend: Backend, kind: str) -> Assessment:
    """What is said before: whether it may be done, and what it would do. Asks every server of the cluster.

    What request would refuse as things stand is said here; for a drain every pgpool.conf is read.
    """
    found = _assessed(cluster, backend, kind)
    if found.refusals or found.settled:
        return found
    return Assessment(tuple(_in_the_way(cluster, backend, kind)), found.risks)


def _assessed(cluster: Cluster, backend: Backend, kind: str) -> Assessment:
    found = assessed(cluster=cluster, kind=kind, node_id=backend.node_id)
    return Assessment((*_not_steered(cluster), *found.refusals), found.risks, found.settled)


def _in_the_way(cluster: Cluster, backend: Backend, kind: str) -> Sequence[str]:
    """What is under way, or why the weights cannot be taken to 0."""
    try:
        rollout_rows.refuse_unless_free(cluster)
        if kind == Kind.DRAIN:
            weight_change.preview(cluster=cluster, per_instance=_weights_without(cluster, backend))
    except (
        OperationRefused,
        rollout_rows.RolloutRunning,
        weight_change.BaseChanged,
        revisions.WeightsRefused,
        WeightError,
    ) as error:
        return (str(error),)
    return ()


def request(
    *,
    caller: Caller,
    cluster: Cluster,
    backend: Backend,
    kind: str,
    reason: str = "",
    wait_limit_s: int = DEFAULT_WAIT_S,
    now: datetime,
) -> BackendOperation:
    """Store an operation that a worker carries out; a drain begins with a rollout that takes the weight to 0.

    Raises OperationInvalid, OperationRefused, backend_operation_rows.OperationRunning, writes.NotAllowed, and what
    rollout_rows.hold and weight_change.request_weights raise; nothing is stored then.
    """
    _check(reason, wait_limit_s)
    writes.refuse_unless_allowed(cluster)
    backend_operation_rows.refuse_running(cluster)
    risk = _assessed(cluster, backend, kind)
    if refusals := [each for each in (*risk.refusals, risk.settled) if each]:
        raise OperationRefused(*refusals)
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout = _to_zero(caller, cluster, backend, now) if kind == Kind.DRAIN else None
        if rollout is None:
            rollout_rows.hold(cluster)
        operation = BackendOperation(cluster=cluster, kind=kind, reason=reason.strip(), rollout=rollout)
        operation.state = operation.State.ACTING if rollout is None else operation.State.WEIGHING
        operation.node_id, operation.backend_name = backend.node_id, backend.shown_name
        operation.risks, operation.wait_limit_s = list(risk.risks), wait_limit_s
        operation.requested_by, operation.requested_by_name = caller.user, caller.user.shown_name
        operation.save()
        _add_steps(operation)
        _record(caller, operation, "requested", {"reason": operation.reason, "risks": operation.risks})
        title = f"{kind.capitalize()} of {operation.backend_name} requested by {operation.requested_by_name}"
        backend_operation_rows.add_event(operation, title, at=now, detail=operation.reason)
        _tell(operation)
    return operation


def cancel(*, caller: Caller, operation: BackendOperation, now: datetime) -> BackendOperation:
    """End a drain before it detaches, and give the weights back. Raises OperationRefused once it is too late.

    While its rollout is under way the drain ends when that has ended: it may verify the weights all the same.
    """
    with transaction.atomic():
        current = _held(operation)
        if current.state not in BackendOperation.CANCELLABLE:
            raise OperationRefused(
                f"{current.get_kind_display().capitalize()} of {current.backend_name} is "
                f"{current.get_state_display()}: only a drain that has not begun to detach can be cancelled."
            )
        if current.cancelled_by_name:
            return current
        current.cancelled_by, current.cancelled_by_name = caller.user, caller.user.shown_name
        if _is_being_taken_back(caller, current, now):
            current.outcome = f"{current.cancelled_by_name} wants rollout #{current.rollout_id} taken back."
            current.save(update_fields=["cancelled_by", "cancelled_by_name", "outcome"])
        else:
            current.state, current.finished_at = BackendOperation.State.CANCELLED, now
            # First, so that a rollout of the way back is not refused because of it.
            current.save(update_fields=["state", "finished_at", "cancelled_by", "cancelled_by_name"])
            current.way_back, current.outcome = weights_back(caller, current, now)
            current.save(update_fields=["outcome", "way_back"])
        _record(caller, current, "cancelled", {"outcome": current.outcome})
        title = f"Drain of {current.backend_name} cancelled by {caller.user.shown_name}"
        backend_operation_rows.add_event(current, title, at=now, detail=current.outcome)
        _tell(current)
    return current


def _is_being_taken_back(caller: Caller, operation: BackendOperation, now: datetime) -> bool:
    if operation.rollout is None:
        return False
    try:
        rollouts.cancel(caller=caller, rollout=operation.rollout, now=now)
    except rollouts.NotRunning:
        return False
    return True


def go_on(*, caller: Caller, operation: BackendOperation, now: datetime) -> BackendOperation:
    """Detach although sessions are left, which are cut then. Raises OperationRefused where nothing waits for them."""
    with transaction.atomic():
        current = _held(operation)
        if current.state not in {BackendOperation.State.WAITING, BackendOperation.State.ASKING}:
            raise OperationRefused(
                f"{current.get_kind_display().capitalize()} of {current.backend_name} is "
                f"{current.get_state_display()}: it does not wait for sessions."
            )
        current.is_go_on, current.next_look_at = True, None
        current.save(update_fields=["is_go_on", "next_look_at"])
        _record(caller, current, "went_on", {"sessions_left": sessions_left(current)})
        title = f"{caller.user.shown_name} lets the drain of {current.backend_name} go on"
        backend_operation_rows.add_event(current, title, at=now, detail="sessions that still read there are cut")
        _tell(current)
    return current


def sessions_left(operation: BackendOperation) -> int | None:
    """Over all pgpools; None while one of them is not counted."""
    counts = list(operation.steps.values_list("sessions_left", flat=True))
    return None if None in counts else sum(count or 0 for count in counts)


def _check(reason: str, wait_limit_s: int) -> None:
    if len(reason.strip()) > LONGEST_REASON or "\0" in reason:
        raise OperationInvalid("reason", f"a text of at most {LONGEST_REASON} characters")
    if not 0 <= wait_limit_s <= LONGEST_WAIT_S:
        raise OperationInvalid("wait_limit_s", f"a number of seconds from 0 to {LONGEST_WAIT_S}")


def _not_steered(cluster: Cluster) -> Sequence[str]:
    """Why nothing is steered here now: writes are not allowed, or a pgpool is never written to."""
    if why := writes.why_not(cluster):
        return (why,)
    kind = PgpoolInstance.Delivery.OBSERVE
    observed = cluster.instances.filter(delivery_kind=kind).order_by("name").values_list("name", flat=True)
    if not observed:
        return ()
    names = ", ".join(observed)
    return (f"{names}: registered as observe only, so Lifeguard attaches and detaches nothing in this cluster.",)


def _to_zero(caller: Caller, cluster: Cluster, backend: Backend, now: datetime) -> Rollout:
    """An ordinary rollout of the weights that stand there, or are owed there, without this backend's."""
    return weight_change.request_weights(
        caller=caller,
        cluster=cluster,
        per_instance=_weights_without(cluster, backend),
        note=f"drain of {backend.shown_name}"[: weight_change.LONGEST_NOTE],
        now=now,
    )


def _weights_without(cluster: Cluster, backend: Backend) -> dict[str, dict[str, float]]:
    """Pgpool name -> node_id -> weight. Raises OperationRefused, or what live_configs.read raises."""
    instances = revisions.writable_instances(cluster)
    return {
        config.instance.name: _without(revisions.weights_of(config.conf), config.instance, backend)
        for config in live_configs.read(cluster, instances, ONE_BY_ONE)
    }


def _without(weights: Mapping[int, float], instance: PgpoolInstance, backend: Backend) -> dict[str, float]:
    left = {str(node_id): 0.0 if node_id == backend.node_id else weight for node_id, weight in weights.items()}
    if not any(left.values()):
        raise OperationRefused(
            f"No other backend has a weight at {instance.name}: without {backend.shown_name} all weights would be 0. "
            "Give another one a weight first."
        )
    return left


def _add_steps(operation: BackendOperation) -> None:
    BackendOperationStep.objects.bulk_create(
        BackendOperationStep(operation=operation, position=position, instance=instance, instance_name=instance.name)
        for position, instance in enumerate(operation.cluster.instances.order_by("name", "pk"))
    )


def _held(operation: BackendOperation) -> BackendOperation:
    rows = BackendOperation.objects.select_for_update(of=("self",)).select_related("cluster", "rollout__revision")
    current = rows.filter(pk=operation.pk).first()
    if current is None:
        raise Http404(f"The operation {operation.pk} was removed with its cluster.")
    return current


def weights_back(caller: Caller | None, operation: BackendOperation, now: datetime) -> tuple[Rollout | None, str]:
    """Start what gives them back once its rollout is over, and say so; what stands in the way is said, too.

    caller None: nobody is left who could.
    """
    who, rollout = f"Cancelled by {operation.cancelled_by_name}.", operation.rollout
    if rollout is None:
        return None, f"{who} The weights stay as they are."
    rollout.refresh_from_db()
    if rollout.state in {Rollout.State.ROLLED_BACK, Rollout.State.CANCELLED}:
        return None, f"{who} Rollout #{rollout.pk} was taken back, so that the weights are as before."
    if caller is None:
        return None, f"{who} The weights stay as they are, since that account is gone: take back rollout #{rollout.pk}."
    try:
        back = rollouts.request_rollback(caller=caller, rollout=rollout, now=now)
    except (rollouts.RolloutRefused, revisions.WeightsRefused, rollout_rows.RolloutRunning) as error:
        return None, f"{who} The weights stay as they are: {error}"
    return back, f"{who} Rollout #{back.pk} gives the weights back."


def _record(caller: Caller, operation: BackendOperation, what: str, after: Mapping[str, object]) -> None:
    audit.record(
        caller=caller,
        action=f"backend.{operation.kind}.{what}",
        target_type="backend",
        target_id=operation.node_id,
        target_name=f"{operation.backend_name} of {operation.cluster.slug}",
        after={"operation": operation.pk, **after},
    )


def _tell(operation: BackendOperation) -> None:
    backend_operation_rows.announce(operation)
    task = backend_operation_rows.ADVANCE_TASK
    transaction.on_commit(lambda: rollout_rows.nudge(operation.pk, task=task), robust=True)
