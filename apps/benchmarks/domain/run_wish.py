"""What a run is asked to be, held against what the cluster offers and what it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.benchmarks.domain import endpoints, topologies
from apps.benchmarks.domain.topologies import Topology
from apps.benchmarks.domain.workload_parameters import ParameterRefused
from apps.benchmarks.domain.workloads import RECONNECT, THROTTLE, WORKLOADS, Workload

LONGEST_NOTE = 500
# Of one pgpool: its other users keep these children, Lifeguard's own sessions among them.
CHILDREN_KEPT = 2
NO_PRIMARY = "; backends can be chosen once a pgpool has named the primary"


class WishRefused(ValueError):
    """Nothing was queued. field: as REST names it. value: None of what was not given. expected: what would be right."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        given = "" if value is None else f"{str(value)[:80]!r} "
        super().__init__(f"{field}: {given}{expected}")
        self.field = field
        self.value = value
        self.expected = expected


@dataclass(frozen=True)
class Room:
    """What one server has left. limit: sessions that it serves at most; used: by others now; None: not known.

    kept: of these for others. of: what the limit counts.
    """

    limit: int | None = None
    used: int | None = None
    kept: int = 0
    of: str = "sessions"

    @property
    def free(self) -> int | None:
        """None where nobody knows; below 0 where others are past the limit."""
        return None if self.limit is None else self.limit - (self.used or 0) - self.kept


@dataclass(frozen=True)
class Limits:
    """What the cluster allows. rooms: by the name of the server."""

    most_clients: int
    most_duration_s: int
    rooms: Mapping[str, Room] = field(default_factory=dict)


@dataclass(frozen=True)
class Wish:
    """One run. duration_s: of the measurement; warm_up_s: of load before it. parameters: all of the workload."""

    workload: Workload
    topology: Topology
    clients: int
    threads: int
    duration_s: int
    warm_up_s: int
    parameters: Mapping[str, Any]
    note: str = ""

    @property
    def writes(self) -> bool:
        return self.workload.does_write(self.parameters)

    @property
    def throttle_per_s(self) -> int | None:
        """Of all clients together, in the unit of tps."""
        found: int | None = self.parameters.get(THROTTLE.name)
        return found

    @property
    def reconnects(self) -> bool:
        return bool(self.parameters.get(RECONNECT.name))


def wish(
    *,
    workload: str,
    topology: str,
    clients: int | None = None,
    duration_s: int,
    threads: int | None = None,
    warm_up_s: int = 0,
    parameters: Mapping[str, object] | None = None,
    note: str = "",
    offered: Sequence[Topology],
    limits: Limits,
) -> Wish:
    """Raises WishRefused for the first thing that is wrong. threads: None for one per client, at most four.

    clients: None where the parameters of the workload make them.
    """
    chosen = _workload(workload)
    target = _topology(topology, offered)
    _refuse_apart(chosen, target, offered)
    found = _parameters(chosen, parameters or {})
    if chosen.does_write(found) and not target.takes_writes:
        takers = ", ".join(one.key for one in offered if one.takes_writes and not one.is_scratch)
        raise WishRefused("topology", topology, f"takes no writes, and {chosen.key} writes; choose one of: {takers}")
    clients = _clients(chosen, found, clients)
    _within("clients", clients, 1, limits.most_clients, "clients")
    if clients < len(target.servers):
        raise WishRefused("clients", clients, f"is fewer than the {len(target.servers)} servers of {target.key}")
    _within("duration_s", duration_s, 1, limits.most_duration_s, "s")
    if chosen.least_duration_s and duration_s < (least_s := chosen.least_duration_s(found)):
        raise WishRefused("duration_s", duration_s, f"must be at least {least_s} s with these parameters")
    _within("warm_up_s", warm_up_s, 0, limits.most_duration_s, "s")
    if duration_s + warm_up_s > limits.most_duration_s:
        whole = f"makes {duration_s + warm_up_s} s with the measurement"
        raise WishRefused("warm_up_s", warm_up_s, f"{whole}; {limits.most_duration_s} s are allowed on this cluster")
    if threads is not None:
        _within("threads", threads, 1, clients, "threads")
    _refuse_exhausting(clients, target, limits)
    if len(note) > LONGEST_NOTE or "\0" in note:
        raise WishRefused("note", note, f"must be a text of at most {LONGEST_NOTE} characters")
    return Wish(
        workload=chosen,
        topology=target,
        clients=clients,
        threads=threads or min(clients, 4),
        duration_s=duration_s,
        warm_up_s=warm_up_s,
        parameters=found,
        note=note.strip(),
    )


def _workload(key: str) -> Workload:
    if key not in WORKLOADS:
        raise WishRefused("workload", key, f"is not known; there are {', '.join(WORKLOADS)}")
    return WORKLOADS[key]


def _topology(key: str, offered: Sequence[Topology]) -> Topology:
    found = topologies.find(key, offered)
    if found is None:
        known = ", ".join(one.key for one in offered) or "none"
        unknown = "" if any(one.key == topologies.PRIMARY for one in offered) else NO_PRIMARY
        if endpoints.is_endpoint(key):
            unknown = "; no endpoint of that name is registered, or no longer"
        raise WishRefused("topology", key, f"is none of this cluster; there are {known}{unknown}")
    return found


def _refuse_apart(workload: Workload, target: Topology, offered: Sequence[Topology]) -> None:
    """Scratch pgpools are started for one kind of load, and take no other."""
    if workload.needs_scratch == target.is_scratch:
        return
    takers = ", ".join(one.key for one in offered if one.is_scratch == workload.needs_scratch) or "none"
    held = "; no configuration of a pgpool is known yet" if workload.needs_scratch and takers == "none" else ""
    raise WishRefused("topology", target.key, f"takes no {workload.key}; it can be run against: {takers}{held}")


def _clients(workload: Workload, parameters: Mapping[str, Any], given: int | None) -> int:
    """Where the parameters of a workload say how many sessions it has, clients are those and no others."""
    if workload.sessions is None:
        if given is None:
            raise WishRefused("clients", None, f"is missing; say how many clients {workload.key} is to have")
        return given
    try:
        needed = workload.sessions(parameters)
    except ParameterRefused as error:
        raise WishRefused(f"parameters.{error.path}", error.value, error.expected) from error
    if given not in {None, needed}:
        raise WishRefused("clients", given, f"must be {needed}, or left out: so many do these parameters make")
    return needed


def _within(field: str, value: int, least: int, most: int, unit: str) -> None:
    if not least <= value <= most:
        raise WishRefused(field, value, f"must be from {least} to {most} {unit} on this cluster")


def _refuse_exhausting(clients: int, target: Topology, limits: Limits) -> None:
    """pgbench waits for ever, without a word, for sessions that a pgpool has no child for."""
    for server, share in zip(target.servers, topologies.shares(clients, len(target.servers)), strict=True):
        room = limits.rooms.get(server.name, Room())
        free = room.free
        if free is None or share <= free:
            continue
        used = f", of which others use {room.used}" if room.used else ""
        keeps = f" and {room.kept} stay for others" if room.kept else ""
        raise WishRefused(
            "clients",
            clients,
            f"would open {share} sessions at {server.name}, which has {room.limit} {room.of}{used}{keeps}: at most "
            f"{max(0, free)} there",
        )


def _parameters(workload: Workload, given: Mapping[str, object]) -> dict[str, Any]:
    if unknown := sorted(set(given) - set(workload.parameters)):
        known = ", ".join(workload.parameters) or "none"
        raise WishRefused(
            f"parameters.{unknown[0]}", unknown[0], f"is no parameter of {workload.key}; known are {known}"
        )
    try:
        found = {name: one.read(given.get(name, one.default)) for name, one in workload.parameters.items()}
        workload.check(found)
        return found
    except ParameterRefused as error:
        raise WishRefused(f"parameters.{error.path}", error.value, error.expected) from error
