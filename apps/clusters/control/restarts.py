"""Rolling restarts as people ask for them: refused with the reason, or stored; ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import restart_rows, restart_survey, rollout_rows, writes
from apps.clusters.control.restart_ways import Way, way_of
from apps.clusters.domain.restart_risk import RestartAssessment
from apps.clusters.domain.routing_words import listed
from apps.clusters.models import Cluster, PendingRestart, PgpoolInstance, RestartStep, RollingRestart

LONGEST_NOTE = 500
State = RestartStep.State


class RestartRefused(Exception):
    """This cannot be done with the pgpools, or the restart, as they stand."""

    def __init__(self, *refusals: str) -> None:
        super().__init__(" ".join(refusals))
        self.refusals = refusals


class RestartInvalid(ValueError):
    """A field of the request cannot be used."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


def risk_of(*, cluster: Cluster, names: Sequence[str] | None = None) -> RestartAssessment:
    """What is said before: whether it may be done, what it would do, in which order.

    names: of the pgpools; None for those that wait for a restart. Raises RestartInvalid.
    Asks every pgpool, unless the registration alone refuses it.
    """
    wanted = _wanted(cluster, names)
    if refusals := _not_steered(cluster, wanted):
        return RestartAssessment(refusals, (), ())
    return restart_survey.assessed(cluster=cluster, wanted=wanted)


def why_none(cluster: Cluster) -> str:
    """Why no pgpool of it is restarted from here, whichever is asked for; "" where one can be. Asks no pgpool."""
    if why := writes.why_not(cluster):
        return why
    instances = list(cluster.instances.order_by("name"))
    if instances and all(_is_observed(each) for each in instances):
        return _never_restarted([each.name for each in instances])
    return ""


def restartable_names(cluster: Cluster) -> list[str]:
    """Of the pgpools that are not observe only, by name."""
    return [each.name for each in cluster.instances.order_by("name") if not _is_observed(each)]


def request(
    *, caller: Caller, cluster: Cluster, names: Sequence[str] | None = None, note: str = "", now: datetime
) -> RollingRestart:
    """Store a restart that a worker carries out, one pgpool after the other.

    Raises RestartInvalid, RestartRefused, and what rollout_rows.hold raises; nothing is stored then.
    """
    if len(note.strip()) > LONGEST_NOTE or "\0" in note:
        raise RestartInvalid("note", f"must be a text of at most {LONGEST_NOTE} characters")
    writes.refuse_unless_allowed(cluster)
    restart_rows.refuse_running(cluster)
    risk = risk_of(cluster=cluster, names=names)
    if risk.refusals:
        raise RestartRefused(*risk.refusals)
    with transaction.atomic():
        rollout_rows.hold(cluster)
        restart = RollingRestart.objects.create(
            cluster=cluster,
            note=note.strip(),
            risks=list(risk.risks),
            requested_by=caller.user,
            requested_by_name=caller.user.shown_name,
        )
        _add_steps(restart, risk.order)
        _record(caller, restart, "requested", {"pgpools": list(risk.order), "note": restart.note})
        title = f"restart #{restart.pk} of {listed(risk.order)} requested by {restart.requested_by_name}"
        restart_rows.add_event(restart, title, at=now, detail=restart.note)
        _tell(restart)
    return restart


def cancel(*, caller: Caller, restart: RollingRestart, now: datetime) -> RollingRestart:
    """End it: at once where nothing is under way, else once the pgpool under way is done. Raises RestartRefused."""
    with transaction.atomic():
        held = RollingRestart.objects.select_for_update(of=("self",)).select_related("cluster")
        current = held.filter(pk=restart.pk).first()
        if current is None:
            raise Http404(f"The restart {restart.pk} was removed with its cluster.")
        if current.state != RollingRestart.State.RUNNING:
            raise RestartRefused(f"Restart #{current.pk} is {current.get_state_display()}: there is nothing to cancel.")
        under_way = current.steps.filter(state__in=[State.ORDERED, State.RESTARTED]).first()
        current.is_cancel_requested, current.next_look_at = True, None
        if under_way is None or (under_way.state == State.ORDERED and under_way.way == Way.HAND):
            current.state, current.finished_at = RollingRestart.State.CANCELLED, now
            current.outcome = f"Cancelled by {caller.user.shown_name}: {_left(current)}."
            current.steps.filter(state__in=[State.PENDING, State.ORDERED]).update(state=State.SKIPPED)
        current.save(update_fields=["is_cancel_requested", "next_look_at", "state", "finished_at", "outcome"])
        _record(caller, current, "cancelled", {"state": current.state})
        title = f"restart #{current.pk} of pgpools cancelled by {caller.user.shown_name}"
        restart_rows.add_event(current, title, at=now, detail=current.outcome)
        _tell(current)
    return current


def _left(restart: RollingRestart) -> str:
    steps = restart.steps.filter(state__in=[State.PENDING, State.ORDERED]).order_by("position")
    names = list(steps.values_list("instance_name", flat=True))
    return f"{listed(names)} {'was' if len(names) == 1 else 'were'} not restarted by it" if names else "all were done"


def _wanted(cluster: Cluster, names: Sequence[str] | None) -> list[PgpoolInstance]:
    instances = list(cluster.instances.select_related("cluster__organisation").order_by("name"))
    if names is None:
        waiting = set(PendingRestart.objects.filter(instance__in=instances).values_list("instance", flat=True))
        return [each for each in instances if each.pk in waiting]
    if not names:
        raise RestartInvalid("instances", "names no pgpool; leave it out for those that wait for a restart")
    known = {each.name for each in instances}
    if unknown := sorted(set(names) - known):
        raise RestartInvalid(
            "instances", f"there is no pgpool {unknown[0][:80]!r}; there are {', '.join(sorted(known))}"
        )
    return [each for each in instances if each.name in names]


def _not_steered(cluster: Cluster, wanted: Sequence[PgpoolInstance]) -> tuple[str, ...]:
    """Why nothing is restarted here now."""
    if why := why_none(cluster):
        return (why,)
    if not wanted:
        return ("No pgpool of this cluster waits for a restart. Name those that shall be restarted all the same.",)
    observed = [each.name for each in wanted if _is_observed(each)]
    return (_never_restarted(observed),) if observed else ()


def _is_observed(instance: PgpoolInstance) -> bool:
    return instance.delivery_kind == PgpoolInstance.Delivery.OBSERVE


def _never_restarted(names: Sequence[str]) -> str:
    it = "it" if len(names) == 1 else "them"
    return (
        f"{listed(names)}: registered as observe only, so Lifeguard never restarts {it}. Choose a delivery in Settings "
        f"to restart {it} from here."
    )


def _add_steps(restart: RollingRestart, order: Sequence[str]) -> None:
    instances = {each.name: each for each in restart.cluster.instances.select_related("cluster__organisation")}
    RestartStep.objects.bulk_create(
        RestartStep(
            restart=restart,
            position=position,
            instance=instances[name],
            instance_name=name,
            way=way_of(instances[name]).way,
            parameters=list(instances[name].pending_restarts.order_by("name").values_list("name", flat=True)),
        )
        for position, name in enumerate(order)
    )


def _record(caller: Caller, restart: RollingRestart, what: str, after: Mapping[str, object]) -> None:
    audit.record(
        caller=caller,
        action=f"pgpools.restart.{what}",
        target_type="cluster",
        target_id=restart.cluster_id,
        target_name=restart.cluster.slug,
        after={"restart": restart.pk, **after},
    )


def _tell(restart: RollingRestart) -> None:
    restart_rows.announce(restart)
    task = restart_rows.ADVANCE_TASK
    transaction.on_commit(lambda: rollout_rows.nudge(restart.pk, task=task), robust=True)
