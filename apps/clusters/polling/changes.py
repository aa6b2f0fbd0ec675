"""What changed from one tick to the next, in words: once per change of the cluster, not once per pgpool."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from apps.clusters.control import restart_rows
from apps.clusters.control.revisions import known_files, weights_of
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.connection_trouble import CLOSES_AT_ONCE, NOBODY_SERVED
from apps.clusters.domain.verification import shares_are_live
from apps.clusters.domain.weights import WeightError
from apps.clusters.models import Cluster, Rollout
from apps.clusters.polling.memory import AWAY_FOR_RESTART, ClusterMemory, is_up
from apps.clusters.polling.readings import InstanceReading, Tick
from apps.clusters.polling.registry import WatchedCluster

# One look that fails may be a busy moment; the second one is news.
FAILURES_TOLD = 2
# Words of reasons -> what such a pgpool does to everybody, not to Lifeguard alone.
_TO_EVERYBODY: Mapping[str, str] = {NOBODY_SERVED: "refuses every client", CLOSES_AT_ONCE: CLOSES_AT_ONCE}
# pgpools that take up the same foreign file one after the other are one change.
SAME_CHANGE = dt.timedelta(seconds=60)


@dataclass(frozen=True)
class Change:
    """kind: as ClusterEvent.Kind. previous_node_id: of a role, who had it before."""

    kind: Literal["instance", "backend", "role", "weights", "restart", "watchdog", "memcached"]
    title: str
    detail: str = ""
    is_problem: bool = False
    instance_name: str = ""
    node_id: int | None = None
    previous_node_id: int | None = None


def changes(*, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick) -> list[Change]:
    """Compare a tick with the memory, and bring the memory up to date (all but its counters)."""
    names = {one.instance_id: one.name for one in cluster.instances}
    found = [change for one in tick.instances for change in _presence(one, names, memory, tick.at)]
    answering = [one for one in tick.instances if one.is_answering and one.nodes]
    found += _restarts(answering, names, memory)
    found += _status(tick.instances, _node_names(cluster), names, memory)
    found += _role(answering, _node_names(cluster), memory)
    found += _weights(answering, cluster, names, memory, tick.at)
    return found


def _node_names(cluster: WatchedCluster) -> Mapping[int, str]:
    return {one.node_id: one.name for one in cluster.backends}


def _named(names: Mapping[int, str], node_id: int) -> str:
    return names.get(node_id, f"backend {node_id}")


def _presence(
    reading: InstanceReading, names: Mapping[int, str], memory: ClusterMemory, at: dt.datetime
) -> Iterable[Change]:
    key = reading.instance_id
    name = names.get(key, f"instance {key}")
    if reading.is_answering:
        memory.failures[key] = 0
        memory.renumbered.discard(key)
        if key in memory.told | memory.restarting:
            memory.told.discard(key)
            memory.restarting.discard(key)
            yield Change("instance", f"{name} answers again", instance_name=name)
        return
    memory.failures[key] = memory.failures.get(key, 0) + 1
    # It comes in with a restart, during which the pgpool may have been told to be away already.
    is_news = reading.state == "renumbered" and key not in memory.renumbered
    if is_news or (memory.failures[key] >= FAILURES_TOLD and key not in memory.told):
        step = None if is_news else restart_rows.away_for(key, now=at)
        if step is not None:
            if key not in memory.restarting:
                memory.restarting.add(key)
                detail = "It was told to restart, and is waited for: the page Restarts says how far it is."
                title = f"{name} {AWAY_FOR_RESTART} #{step.restart_id}"
                yield Change("instance", title, detail, instance_name=name)
            return
        memory.told.add(key)
        if is_news:
            memory.renumbered.add(key)
        yield Change("instance", f"{name} {_away(reading)}", reading.reason, is_problem=True, instance_name=name)


def _away(reading: InstanceReading) -> str:
    if reading.state == "refused":
        return next((said for words, said in _TO_EVERYBODY.items() if words in reading.reason), "refuses Lifeguard")
    return {"hanging": "hangs", "renumbered": "numbers the backends differently"}.get(reading.state, "does not answer")


def _restarts(
    answering: Iterable[InstanceReading], names: Mapping[int, str], memory: ClusterMemory
) -> Iterable[Change]:
    for reading in answering:
        before = memory.counters.get(reading.instance_id)
        if before is None:
            continue
        if any(node.select_count < before.reads.get(node.node_id, 0) for node in reading.nodes):
            name = names.get(reading.instance_id, f"instance {reading.instance_id}")
            yield Change("restart", f"{name} was restarted", "Its counters began again at 0.", instance_name=name)


def _status(
    instances: Iterable[InstanceReading],
    node_names: Mapping[int, str],
    names: Mapping[int, str],
    memory: ClusterMemory,
) -> Iterable[Change]:
    """Down as soon as one pgpool holds it for down, up again when all hold it for up."""
    down_for: dict[int, list[str]] = {}
    seen: set[int] = set()
    for reading in instances:
        for node in reading.nodes or reading.pcp_nodes:
            seen.add(node.node_id)
            if not is_up(node.status):
                down_for.setdefault(node.node_id, []).append(names.get(reading.instance_id, "one pgpool"))
    for node_id in sorted(seen):
        now_up = node_id not in down_for
        if memory.is_up.get(node_id, now_up) != now_up:
            name = _named(node_names, node_id)
            if now_up:
                yield Change("backend", f"{name} is up again", node_id=node_id)
            else:
                detail = f"First seen by {', '.join(sorted(down_for[node_id]))}."
                yield Change("backend", f"{name} went down", detail, is_problem=True, node_id=node_id)
        memory.is_up[node_id] = now_up


def _role(answering: list[InstanceReading], node_names: Mapping[int, str], memory: ClusterMemory) -> Iterable[Change]:
    """While the primary is away pgpool shows none: the latest one known stays until there is another."""
    primaries = [{node.node_id for node in one.nodes if node.role == "primary"} for one in answering]
    if not primaries or any(len(one) != 1 or one != primaries[0] for one in primaries):
        return
    [primary] = primaries[0]
    if memory.primary is not None and memory.primary != primary:
        before, now = _named(node_names, memory.primary), _named(node_names, primary)
        detail = f"Every pgpool that answers sees it. The series of {now} and {before} go on as they were."
        title = f"{now} was promoted; the primary was {before}"
        yield Change("role", title, detail, node_id=primary, previous_node_id=memory.primary)
    memory.primary = primary


def _weights(
    answering: list[InstanceReading],
    cluster: WatchedCluster,
    names: Mapping[int, str],
    memory: ClusterMemory,
    at: dt.datetime,
) -> Iterable[Change]:
    for reading in answering:
        if not reading.pool_nodes:
            continue
        now = {node.node_id: node.lb_weight for node in reading.pool_nodes}
        before = memory.weights.get(reading.instance_id)
        memory.weights[reading.instance_id] = now
        if before is None or before == now or not _is_known(before):
            continue
        if _is_rollout_under_way(cluster):
            memory.foreign_weights = None
            continue
        name = names.get(reading.instance_id, "a pgpool")
        if _are_known(cluster, reading.instance_id, now):
            if memory.foreign_weights is not None and memory.foreign_weights[1] == before:
                memory.foreign_weights = None
                detail = f"First seen at {name}: {_shares(before)}, now {_shares(now)}."
                yield Change("weights", "Weights are as Lifeguard wrote them again", detail, instance_name=name)
            continue
        is_told = memory.foreign_weights is not None and (
            memory.foreign_weights[1] == now and at - memory.foreign_weights[0] < SAME_CHANGE
        )
        memory.foreign_weights = (at, now)
        if not is_told:
            detail = f"First seen at {name}: {_shares(before)}, now {_shares(now)}."
            yield Change("weights", "Weights were changed outside Lifeguard", detail, instance_name=name)


def _is_rollout_under_way(cluster: WatchedCluster) -> bool:
    """The registry was read seconds ago, and a rollout may have begun and written since: the rows know."""
    return Rollout.objects.filter(cluster_id=cluster.cluster_id, state__in=Rollout.ACTIVE).exists()


def _are_known(cluster: WatchedCluster, instance_id: int, weights: Mapping[int, float | None]) -> bool:
    """Whether they are those that Lifeguard put or found there latest: a pgpool may take a file in much later."""
    known = known_files(Cluster.objects.get(pk=cluster.cluster_id)).get(instance_id)
    if known is None:
        return False
    try:
        return shares_are_live(weights_of(pgpool_conf.parse(known.text)), weights)
    except (WeightError, pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return False


def _is_known(weights: Mapping[int, float | None]) -> bool:
    return any(weight is not None for weight in weights.values())


def _shares(weights: Mapping[int, float | None]) -> str:
    return " / ".join("–" if weight is None else f"{weight * 100:.1f}" for _, weight in sorted(weights.items()))
