"""What the guards of a rollout look at: what pollers stored of its cluster, before its hold and since."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from apps.clusters.control import convergence
from apps.clusters.domain import guards
from apps.clusters.domain.guards import Aborted, Counted, Finding, Guards, LeftOut, RoundTrips, Seen
from apps.clusters.domain.rollout_waves import stored_plan, waves
from apps.clusters.history.aborted import aborted
from apps.clusters.history.round_trips import round_trips
from apps.clusters.models import PgpoolInstance, Rollout, RolloutStep
from apps.clusters.queries.health import STALE_AFTER_S
from apps.clusters.queries.rollout_plans import left_out_of
from apps.clusters.queries.sight import InstanceSight, Sight, sight_of

# What is silent for less long may be a blink of the poller.
LOST_AFTER = timedelta(seconds=5)
# Round trips of this long before the hold are what is usual.
USUAL_FOR = timedelta(minutes=5)
# Standbys cancel reads in bursts, some minutes apart.
USUALLY_ABORTED_FOR = timedelta(minutes=30)


def seen(rollout: Rollout, *, now: datetime, since: datetime | None = None) -> Seen:
    """What is known at this moment. since: what was told before is stale; so is what is old now."""
    sight, written = sight_of(rollout.cluster), _written(rollout)
    lost = [one.instance.name for one in sight.instances if _is_lost(one, now)]
    lost += [one.name for one in sight.backends if not one.is_up]
    return Seen(
        lost=tuple(lost),
        lags_s={one.name: one.lag_s for one in sight.backends if one.role == "standby" and one.is_up},
        counted={
            one.instance.name: _counted(sight, one.instance.pk) for one in sight.instances if one.instance.pk in written
        },
        stale=() if since is None else _stale(sight, oldest=max(since, now - timedelta(seconds=STALE_AFTER_S))),
    )


def look(rollout: Rollout, *, before: Mapping[str, Any], since: datetime, now: datetime) -> tuple[Finding, ...]:
    """One finding for each guard of the rollout's plan. before: what as_json made when the hold began."""
    written, plan = _written(rollout), stored_plan(rollout.plan)
    left_out = _left_out(rollout, plan.guards, list(written))
    judged = [pk for pk, name in written.items() if name not in _names(left_out, "shares")]
    everywhere = dict(rollout.cluster.instances.values_list("pk", "name"))
    earlier = round_trips(instance_ids=everywhere, start=since - USUAL_FOR, end=since)
    later = round_trips(instance_ids=everywhere, start=since, end=now)
    latest = just_written(rollout)
    none = RoundTrips(0, None)
    current = seen(rollout, now=now, since=since)
    return guards.judge(
        plan.guards,
        before=from_json(before),
        now=replace(current, counted=_without(current.counted, _names(left_out, "error_factor"))),
        round_trips={name: (earlier.get(pk, none), later.get(pk, none)) for pk, name in written.items()},
        control={
            name: (earlier.get(pk, none), later.get(pk, none)) for pk, name in everywhere.items() if pk not in latest
        },
        aborted=_aborted(rollout, standbys=current.lags_s, since=since, now=now),
        reads=None
        if written and not judged
        else convergence.reads_since(rollout=rollout, instance_ids=judged, start=since, now=now),
        left_out=left_out,
    )


def _left_out(rollout: Rollout, chosen: Guards, instance_ids: Sequence[int]) -> tuple[LeftOut, ...]:
    instances = PgpoolInstance.objects.filter(pk__in=instance_ids).defer("pcp_password")
    return left_out_of(rollout.cluster, chosen, instances)


def _names(left_out: Sequence[LeftOut], guard: str) -> set[str]:
    """Of those that this guard can tell nothing of."""
    return {name for one in left_out if one.guard == guard for name in one.instances}


def _without(counted: Mapping[str, Counted | None], names: Collection[str]) -> dict[str, Counted | None]:
    return {name: one for name, one in counted.items() if name not in names}


def as_json(found: Seen) -> dict[str, Any]:
    return asdict(found)


def from_json(stored: Mapping[str, Any]) -> Seen:
    counted = {name: None if one is None else Counted(**one) for name, one in stored.get("counted", {}).items()}
    return Seen(lost=tuple(stored.get("lost", ())), lags_s=stored.get("lags_s", {}), counted=counted)


def words(found: Sequence[Finding]) -> str:
    return "; ".join(f"{one.text} ({one.outcome})" for one in found)


def _written(rollout: Rollout) -> dict[int, str]:
    """Instance id -> name, of those that run the new file."""
    done = rollout.steps.filter(state=RolloutStep.State.VERIFIED, instance__isnull=False).order_by("position")
    return dict(done.values_list("instance_id", "instance_name"))


def just_written(rollout: Rollout) -> set[int]:
    """Instance ids of the latest wave; those of earlier ones have shown already what the new file does."""
    steps = list(rollout.steps.values_list("position", "state", "instance_id"))
    written = {position: pk for position, state, pk in steps if state == RolloutStep.State.VERIFIED and pk is not None}
    for wave in reversed(waves(stored_plan(rollout.plan), [position for position, _, _ in steps])):
        if found := {written[position] for position in wave if position in written}:
            return found
    return set()


def _aborted(
    rollout: Rollout, *, standbys: Collection[str], since: datetime, now: datetime
) -> dict[str, tuple[Aborted, Aborted]]:
    """Standby -> what it cancelled before the rollout began, so that no earlier hold counts as usual, and since."""
    named = {one.pk: one.shown_name for one in rollout.cluster.backends.all() if one.shown_name in standbys}
    began = rollout.started_at or since
    earlier = aborted(backend_ids=named, start=began - USUALLY_ABORTED_FOR, end=began)
    later = aborted(backend_ids=named, start=since, end=now)
    unknown = Aborted(None)
    return {name: (earlier.get(pk, unknown), later.get(pk, unknown)) for pk, name in named.items()}


def _is_lost(one: InstanceSight, now: datetime) -> bool:
    return not one.is_answering and (one.latest is None or now - one.latest.state_since >= LOST_AFTER)


def _stale(sight: Sight, *, oldest: datetime) -> tuple[str, ...]:
    """Who was not polled since. One that was never polled is lost, or its lag is not known."""
    polled = [(one.instance.name, one.latest.polled_at) for one in sight.instances if one.latest is not None]
    polled += [(one.name, one.latest.polled_at) for one in sight.backends if one.latest is not None]
    return tuple(name for name, polled_at in polled if polled_at < oldest)


def _counted(sight: Sight, instance_id: int) -> Counted | None:
    nodes = [node for node in sight.nodes if node.instance_id == instance_id]
    errors = [node.error_count for node in nodes if node.error_count is not None]
    reads = [node.select_count for node in nodes if node.select_count is not None]
    return Counted(sum(errors), sum(reads)) if errors and reads else None
